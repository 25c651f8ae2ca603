"""CIFAR-10 in both published layouts, with few rows in a batch."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from evaluation.datasets import cifar10
from evaluation.datasets.load import load_dataset
from evaluation.domain.errors import DatasetRefusal

NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
ROWS = 3
BATCHES = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cifar10, "ROWS", ROWS)


def batch(number: int) -> tuple[np.ndarray, list[int]]:
    """Return rows as in a file, and labels."""
    rows = np.random.default_rng(number).integers(0, 256, (ROWS, 3072), np.uint8)
    return rows, [(number + row) % 10 for row in range(ROWS)]


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    for number, name in enumerate(BATCHES):
        rows, labels = batch(number)
        (tmp_path / f"{name}.bin").write_bytes(np.hstack([np.array(labels, np.uint8)[:, None], rows]).tobytes())
    (tmp_path / "batches.meta.txt").write_text("\n".join(NAMES) + "\n\n")
    return tmp_path


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """As written by Python 2: keys are bytes."""
    for number, name in enumerate(BATCHES):
        rows, labels = batch(number)
        (tmp_path / name).write_bytes(pickle.dumps({b"data": rows, b"labels": labels}, protocol=2))
    (tmp_path / "batches.meta").write_bytes(pickle.dumps({b"label_names": [name.encode() for name in NAMES]}, 2))
    return tmp_path


@pytest.mark.parametrize("layout", ["binary", "python"])
def test_both_layouts_are_read_with_labels_images_and_class_names(layout: str, request: pytest.FixtureRequest) -> None:
    dataset = load_dataset(f"cifar10:{request.getfixturevalue(layout)}")
    assert (dataset.class_names, dataset.shape, list(dataset.splits)) == (NAMES, (32, 32, 3), ["train", "test"])
    train, test = dataset.samples("train"), dataset.samples("test")
    assert [sample.label for sample in train] == [0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5, 6]
    assert [sample.number for sample in train] == list(range(15))
    assert [sample.label for sample in test] == [5, 6, 7]
    rows, _ = batch(5)
    red, green, blue = rows[1].reshape(3, 32, 32)
    assert (test[1].image == np.dstack([red, green, blue])).all()
    assert [sample.number for sample in dataset.samples("train", 4)] == [0, 1, 2, 3]


def test_every_damaged_batch_is_named(binary: Path) -> None:
    (binary / "data_batch_2.bin").write_bytes(b"short")
    (binary / "data_batch_4.bin").unlink()
    content = bytearray((binary / "data_batch_5.bin").read_bytes())
    content[0] = 10
    (binary / "data_batch_5.bin").write_bytes(content)
    dataset = load_dataset(f"cifar10:{binary}")
    assert len(dataset.samples("test")) == 3
    with pytest.raises(DatasetRefusal) as refused:
        dataset.samples("train")
    for line in ("data_batch_2.bin: has 5 bytes", "data_batch_4.bin: missing", "data_batch_5.bin: has labels outside"):
        assert line in refused.value.problem


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"no pickle", "corrupt"),
        (pickle.dumps([1, 2], 2), "not a dictionary"),
        (pickle.dumps({b"data": np.zeros((ROWS, 3072)), b"labels": [0] * ROWS}, 2), "its data are not"),
        (pickle.dumps({b"data": np.zeros((ROWS, 3072), np.uint8), b"labels": [0]}, 2), "its labels are not"),
        (pickle.dumps({b"data": np.zeros((ROWS, 3072), np.uint8), b"labels": [-1] * ROWS}, 2), "labels outside"),
    ],
)
def test_it_rejects_a_damaged_pickle(python: Path, content: bytes, says: str) -> None:
    (python / "test_batch").write_bytes(content)
    with pytest.raises(DatasetRefusal, match=says):
        load_dataset(f"cifar10:{python}").samples("test")


class Evil:
    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, ...]]:
        return exec, ("raise SystemExit('it ran')",)


def test_a_pickle_runs_no_code(python: Path) -> None:
    (python / "test_batch").write_bytes(pickle.dumps(Evil(), 2))
    with pytest.raises(DatasetRefusal, match="it would load"):
        load_dataset(f"cifar10:{python}").samples("test")


@pytest.mark.parametrize("names", ["", "cat\ndog\n"])
def test_it_rejects_other_class_names(binary: Path, names: str) -> None:
    (binary / "batches.meta.txt").write_text(names)
    with pytest.raises(DatasetRefusal, match="classes, not 10"):
        load_dataset(f"cifar10:{binary}")


def test_it_rejects_another_folder(tmp_path: Path) -> None:
    with pytest.raises(DatasetRefusal, match=r"neither data_batch_1.bin nor data_batch_1 exists"):
        load_dataset(f"cifar10:{tmp_path}")
