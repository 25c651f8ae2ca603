"""CIFAR-10 in both layouts that its authors publish: 10 classes, 32 x 32 x 3, batches of 10,000 images.

    binary    data_batch_1.bin to data_batch_5.bin, test_batch.bin, batches.meta.txt
    python    data_batch_1 to data_batch_5, test_batch, batches.meta

A row of either is 3,072 bytes: the red, the green and the blue plane, each in rows of pixels; in the binary layout the
label precedes it (https://www.cs.toronto.edu/~kriz/cifar.html).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.datasets.base import Dataset, Reading
from evaluation.datasets.image_files import refuse_if_any, required_text
from evaluation.domain.errors import DatasetRefusal
from evaluation.domain.images import Images, ImageShape
from evaluation.domain.samples import Sample

ROWS = 10_000
"""Images in each batch."""

_SHAPE = ImageShape(32, 32, 3)
_CLASSES = 10
_BATCHES = {"train": tuple(f"data_batch_{number}" for number in range(1, 6)), "test": ("test_batch",)}
_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")


def cifar10(root: Path) -> Dataset:
    """Return the data set at `root`; splits "train" (50,000 images) and "test" (10,000), in the order of the files.

    Raise `DatasetRefusal` if neither layout is there.
    """
    binary = (root / "data_batch_1.bin").exists()
    if not binary and not (root / "data_batch_1").exists():
        raise DatasetRefusal(
            f"{root}: neither data_batch_1.bin nor data_batch_1 exists",
            fix="name the folder cifar-10-batches-bin or cifar-10-batches-py of the published archives",
        )
    names = tuple(required_text(root / "batches.meta.txt", root).split()) if binary else _python_names(root)
    if len(names) != _CLASSES:
        raise DatasetRefusal(f"{root} names {len(names)} classes, not {_CLASSES}", fix="restore its batches.meta")
    return Dataset(
        name="cifar10",
        class_names=names,
        shape=_SHAPE,
        splits={split: partial(_read, root, batches, binary) for split, batches in _BATCHES.items()},
    )


def _read(root: Path, batches: Sequence[str], binary: bool, count: int | None) -> Reading:
    total = len(batches) * ROWS
    size = total if count is None else min(count, total)
    return Reading(size, _samples(root, batches, binary, size))


def _samples(root: Path, batches: Sequence[str], binary: bool, size: int) -> Iterator[Sample]:
    problems, number = [], 0
    for batch in batches:
        if number >= size:
            break
        try:
            images, labels = (_binary_batch if binary else _python_batch)(root, batch)
        except DatasetRefusal as refusal:
            problems.append(refusal.problem)
            continue
        for image, label in zip(images[: size - number], labels, strict=False):
            yield Sample(number, image, int(label))
            number += 1
    refuse_if_any(problems, root)


def _binary_batch(root: Path, batch: str) -> tuple[Images, Sequence[int]]:
    name = f"{batch}.bin"
    try:
        data = np.fromfile(root / name, np.uint8)
    except OSError as error:
        raise DatasetRefusal(f"{name}: missing or unreadable") from error
    if data.size != ROWS * (1 + _SHAPE.size):
        raise DatasetRefusal(f"{name}: has {data.size:,} bytes, not {ROWS * (1 + _SHAPE.size):,}")
    rows = data.reshape(ROWS, -1)
    return _checked(name, rows[:, 1:], rows[:, 0])


def _python_names(root: Path) -> tuple[str, ...]:
    names = _unpickled(root, "batches.meta").get(b"label_names", ())
    return tuple(name.decode() for name in names if isinstance(name, bytes))


def _python_batch(root: Path, batch: str) -> tuple[Images, Sequence[int]]:
    content = _unpickled(root, batch)
    rows, labels = content.get(b"data"), content.get(b"labels")
    if not isinstance(rows, np.ndarray) or rows.dtype != np.uint8 or rows.shape != (ROWS, _SHAPE.size):
        raise DatasetRefusal(f"{batch}: its data are not {ROWS:,} images of {_SHAPE.size:,} bytes")
    if not isinstance(labels, list) or len(labels) != ROWS or not all(type(label) is int for label in labels):
        raise DatasetRefusal(f"{batch}: its labels are not {ROWS:,} whole numbers")
    return _checked(batch, rows, np.array(labels))


def _checked(name: str, rows: Images, labels: Any) -> tuple[Images, Sequence[int]]:
    if labels.min() < 0 or labels.max() >= _CLASSES:
        raise DatasetRefusal(f"{name}: has labels outside 0 to {_CLASSES - 1}")
    height, width, channels = _SHAPE
    planes = rows.reshape(ROWS, channels, height, width)
    images = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
    images.setflags(write=False)
    return images, labels


def _encode(text: str, encoding: str) -> bytes:
    return text.encode(encoding)


class _ArraysOnly(pickle.Unpickler):
    """Reads dictionaries, lists, bytes, numbers and arrays: any other object of a pickle could run code."""

    def find_class(self, module: str, name: str) -> Any:
        if module in _MODULES and name == "_reconstruct":
            return np._core.multiarray._reconstruct  # type: ignore[attr-defined]  # where NumPy 2 keeps it
        if (module, name) in (("numpy", "ndarray"), ("numpy", "dtype")):
            return getattr(np, name)
        if (module, name) == ("_codecs", "encode"):  # how Python 3 writes bytes in a pickle that Python 2 can read
            return _encode
        raise pickle.UnpicklingError(f"it would load {module}.{name}")


def _unpickled(root: Path, name: str) -> dict[Any, Any]:
    try:
        with (root / name).open("rb") as file:
            content = _ArraysOnly(file, encoding="bytes").load()
    except OSError as error:
        raise DatasetRefusal(f"{name}: missing or unreadable", fix="restore it from the published archive") from error
    except Exception as error:  # damaged pickles raise errors of any kind
        raise DatasetRefusal(
            f"{name}: corrupt, or not a batch of CIFAR-10 ({error})", fix="restore it from the published archive"
        ) from error
    if not isinstance(content, dict):
        raise DatasetRefusal(f"{name}: is not a dictionary", fix="restore it from the published archive")
    return content
