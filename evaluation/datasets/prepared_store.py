"""Prepared store: a whole data set in one file of images that is mapped into memory, and an index with their hashes.

    store.json    format, data set, class names, image shape, splits, and the SHA-256 of index.npy; names of the images
                  where the data set's table has them
    index.npy     one row per image: label, target (-1 for none) and the SHA-256 of the image's bytes
    images.npy    uint8 (n, height, width, channels), in the order of the index

`store.json` is written last and names the hash of the index, and the index those of the images: whatever is read from
a store is what was prepared, or is refused. A store opens in milliseconds and reads no image that nobody asks for.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluation.datasets.base import Dataset, Reading
from evaluation.datasets.image_files import refuse_if_any
from evaluation.domain.errors import DatasetRefusal
from evaluation.domain.images import ImageShape
from evaluation.domain.samples import Sample

Index: TypeAlias = NDArray[Any]

FORMAT = 1
STORE, INDEX, IMAGES = "store.json", "index.npy", "images.npy"

_ROW = np.dtype([("label", "<i4"), ("target", "<i4"), ("sha256", "V32")])
_NO_TARGET = -1
_AGAIN = "prepare the data set again: gauntlet data prepare"


@dataclass(frozen=True)
class Store:
    """What a prepared store holds."""

    kind: str
    """Name of the data set as in `--dataset`."""
    shape: tuple[int, ...]
    classes: int
    splits: dict[str, int]
    """Number of images in each split."""
    bytes: int
    sha256: str
    """Of store.json, and so of everything in the store."""
    repeated: int
    """Number of images whose bytes an earlier image has, too."""


def is_store(root: Path) -> bool:
    """Whether `root` is a prepared store."""
    return (root / STORE).is_file()


def prepare(dataset: Dataset, kind: str, into: Path, *, on_image: Callable[[str, int], None]) -> Store:
    """Read every image of `dataset` and write a store at `into`; an interrupted call leaves nothing there.

    `on_image` is called after each image with its split and the number of images in all splits. Raise `DatasetRefusal`
    if the data set is damaged, and `DatasetRefusal` if `into` exists or cannot be written.
    """
    if into.exists():
        raise DatasetRefusal(f"{into} exists already", fix="name a new folder, or remove it first")
    unfinished = into.with_name(f"{into.name}.unfinished-{os.getpid()}")
    try:
        unfinished.mkdir(parents=True)
        _write(dataset, kind, unfinished, on_image)
        unfinished.rename(into)
    except OSError as error:
        raise DatasetRefusal(
            f"cannot write the store {into}: {error.strerror}", fix="free space, or name another folder"
        ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return summary(into)


def _write(dataset: Dataset, kind: str, root: Path, on_image: Callable[[str, int], None]) -> None:
    readings = {split: dataset.read(split) for split in dataset.splits}
    total = sum(reading.size for reading in readings.values())
    index = np.zeros(total, _ROW)
    image_ids: list[str] = []
    row = 0
    # written, not mapped: on a full disk a mapped file ends the process
    with (root / IMAGES).open("wb") as images:
        header = {"descr": "|u1", "fortran_order": False, "shape": (total, *dataset.shape)}
        np.lib.format.write_array_header_1_0(images, header)
        for split, reading in readings.items():
            for sample in reading.samples:
                data = sample.image.tobytes()
                images.write(data)
                target = _NO_TARGET if sample.target is None else sample.target
                index[row] = (sample.label, target, hashlib.sha256(data).digest())
                image_ids.append(sample.image_id)
                row += 1
                on_image(split, total)
        images.flush()
        os.fsync(images.fileno())
    with (root / INDEX).open("wb") as file:
        np.lib.format.write_array(file, index, version=(1, 0), allow_pickle=False)
    content = {
        "format": FORMAT,
        "dataset": kind,
        "name": dataset.name,
        "class_names": dataset.class_names,
        "shape": dataset.shape,
        "splits": {split: reading.size for split, reading in readings.items()},
        "index_sha256": hashlib.sha256((root / INDEX).read_bytes()).hexdigest(),
        **({"image_ids": image_ids} if any(image_ids) else {}),
    }
    (root / STORE).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def open_store(root: Path, kind: str) -> Dataset:
    """Return the data set of the store at `root`. Raise `DatasetRefusal` if it is damaged, or not one of `kind`."""
    content = _content(root)
    if content["dataset"] != kind:
        raise DatasetRefusal(
            f"{root} holds {content['dataset']}, not {kind}", fix=f"name it {content['dataset']}:{root}"
        )
    shape = ImageShape(*content["shape"])
    index, images = _arrays(root, content)
    image_ids = content.get("image_ids") or [""] * len(index)
    splits, first = {}, 0
    for name, size in content["splits"].items():
        rows = range(first, first + size)
        splits[name] = partial(_read, root, images, index, image_ids, rows, shape)
        first += size
    return Dataset(name=content["name"], class_names=tuple(content["class_names"]), shape=shape, splits=splits)


def summary(root: Path) -> Store:
    """Return what the store at `root` holds, without a look at its images. Raise `DatasetRefusal` if it is damaged."""
    content = _content(root)
    index, _ = _arrays(root, content)
    return Store(
        kind=content["dataset"],
        shape=tuple(content["shape"]),
        classes=len(content["class_names"]),
        splits=content["splits"],
        bytes=sum((root / name).stat().st_size for name in (STORE, INDEX, IMAGES)),
        sha256=hashlib.sha256((root / STORE).read_bytes()).hexdigest(),
        repeated=len(index) - len(np.unique(index["sha256"])),
    )


def distinct_images(root: Path) -> dict[str, int]:
    """Return by split how many different images the store at `root` has. Raise `DatasetRefusal` if it is damaged."""
    content = _content(root)
    index, _ = _arrays(root, content)
    found, first = {}, 0
    for name, size in content["splits"].items():
        found[name] = len(np.unique(index["sha256"][first : first + size]))
        first += size
    return found


def _content(root: Path) -> dict[str, Any]:
    try:
        content = json.loads((root / STORE).read_bytes())
        version = content["format"]
        sizes = list(content["splits"].values())
        image_ids = content.get("image_ids", [])
        names = [content["dataset"], content["name"], content["index_sha256"], *content["class_names"], *image_ids]
        whole = [*content["shape"], *sizes]
        if len(content["shape"]) != 3 or not all(type(number) is int and number >= 0 for number in whole):
            raise ValueError("shape or splits")
        if not all(isinstance(name, str) for name in names):
            raise ValueError("names")
        if image_ids and len(image_ids) != sum(sizes):
            raise ValueError("names of images")
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DatasetRefusal(f"{root / STORE} is damaged", fix=_AGAIN) from error
    if version != FORMAT:
        raise DatasetRefusal(f"{root} is a store of format {version}, not {FORMAT}", fix=_AGAIN)
    return dict(content)


def _arrays(root: Path, content: dict[str, Any]) -> tuple[Index, NDArray[np.uint8]]:
    """Return the index, checked against its hash, and the images as a file mapped into memory."""
    total = sum(content["splits"].values())
    try:
        data = (root / INDEX).read_bytes()
        if hashlib.sha256(data).hexdigest() != content["index_sha256"]:
            raise DatasetRefusal(f"{root / INDEX} is not the index that was prepared", fix=_AGAIN)
        index = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
        images = np.load(root / IMAGES, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DatasetRefusal(f"{root}: {INDEX} or {IMAGES} is missing or damaged", fix=_AGAIN) from error
    if images.dtype != np.uint8 or images.shape != (total, *content["shape"]) or index.shape != (total,):
        raise DatasetRefusal(f"{root}: {IMAGES} is not what {STORE} says", fix=_AGAIN)
    return index, images


def _read(
    root: Path,
    images: NDArray[np.uint8],
    index: Index,
    image_ids: Sequence[str],
    rows: range,
    shape: ImageShape,
    count: int | None,
) -> Reading:
    chosen = rows[:count]
    return Reading(len(chosen), _samples(root, images, index, image_ids, chosen, shape))


def _samples(
    root: Path, images: NDArray[np.uint8], index: Index, image_ids: Sequence[str], rows: range, shape: ImageShape
) -> Iterator[Sample]:
    damaged = []
    for number, row in enumerate(rows):
        data = images[row].tobytes()  # a copy: later changes of the file must not reach a match
        expected = index[row]
        if hashlib.sha256(data).digest() != bytes(expected["sha256"]):
            damaged.append(f"{IMAGES}: image {row} is not the one that was prepared")
            continue
        label, target = int(expected["label"]), int(expected["target"])
        image = np.frombuffer(data, np.uint8).reshape(shape)
        yield Sample(number, image, label, None if target == _NO_TARGET else target, image_ids[row])
    refuse_if_any(damaged, root)
