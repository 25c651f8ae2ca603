"""Prepared stores: what is read is what the tree held, or it is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from evaluation.datasets import prepared_store
from evaluation.datasets.base import Dataset
from evaluation.datasets.load import load_dataset
from evaluation.datasets.prepared_store import Store, prepare
from evaluation.domain.errors import DatasetRefusal


@pytest.fixture
def tree(tmp_path: Path, write_image: Callable[..., None]) -> Dataset:
    """Two splits of two classes, 64 x 64; the two validation images are equal."""
    for split, values in (("train", (10, 20, 30)), ("validation", (99,))):
        for label in ("cat", "dog"):
            for value in values:
                shade = value if split == "validation" else value + (label == "dog")
                write_image(tmp_path / "tree" / split / label / f"{value}.png", shade)
    return load_dataset(f"folder:{tmp_path / 'tree'}")


@pytest.fixture
def store(tree: Dataset, tmp_path: Path) -> Path:
    prepare(tree, "folder", tmp_path / "store", on_image=lambda split, total: None)
    return tmp_path / "store"


def test_a_prepared_store_holds_the_samples_of_the_tree(tree: Dataset, tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []
    made = prepare(tree, "folder", tmp_path / "store", on_image=lambda split, total: seen.append((split, total)))
    assert seen == [("train", 8)] * 6 + [("validation", 8)] * 2
    assert isinstance(made, Store)
    assert (made.splits, made.classes, made.shape, made.repeated) == (
        {"train": 6, "validation": 2},
        2,
        (64, 64, 3),
        1,
    )
    opened = load_dataset(f"folder:{tmp_path / 'store'}")
    assert (opened.name, opened.class_names, opened.shape) == (tree.name, tree.class_names, tree.shape)
    for split in tree.splits:
        for before, after in zip(tree.samples(split), opened.samples(split), strict=True):
            assert (before.number, before.label, before.target) == (after.number, after.label, after.target)
            assert (before.image == after.image).all()
    assert [sample.number for sample in opened.samples("validation", 1)] == [0]


def test_targets_and_image_names_of_the_data_set_stay(tmp_path: Path, write_image: Callable[..., None]) -> None:
    write_image(tmp_path / "tree" / "images" / "a.png", side=299)
    (tmp_path / "tree" / "dev_dataset.csv").write_text("ImageId,TrueLabel,TargetClass\na,5,9\n")
    prepare(
        load_dataset(f"nips2017:{tmp_path / 'tree'}"),
        "nips2017",
        tmp_path / "store",
        on_image=lambda split, total: None,
    )
    (sample,) = load_dataset(f"nips2017:{tmp_path / 'store'}").samples("dev")
    assert (sample.label, sample.target, sample.image_id) == (4, 8, "a")


def test_a_store_of_images_without_names_has_none(store: Path) -> None:
    assert "image_ids" not in json.loads((store / "store.json").read_text())
    assert [sample.image_id for sample in load_dataset(f"folder:{store}").samples("validation")] == ["", ""]


def test_equal_data_sets_give_equal_stores(tree: Dataset, tmp_path: Path) -> None:
    made = [prepare(tree, "folder", tmp_path / name, on_image=lambda split, total: None) for name in ("one", "two")]
    assert made[0] == made[1]


def test_a_changed_image_is_named_when_it_is_read(store: Path) -> None:
    with (store / "images.npy").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\0")
    dataset = load_dataset(f"folder:{store}")
    assert len(dataset.samples("train")) == 6
    with pytest.raises(DatasetRefusal, match="image 7 is not the one that was prepared"):
        dataset.samples("validation")


def test_a_changed_label_is_refused(store: Path) -> None:
    index = np.load(store / "index.npy")
    index["label"][0] = 1
    np.save(store / "index.npy", index)
    with pytest.raises(DatasetRefusal, match=r"index.npy is not the index that was prepared"):
        load_dataset(f"folder:{store}")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda store: (store / "images.npy").unlink(), "missing or damaged"),
        (
            lambda store: (store / "images.npy").write_bytes((store / "images.npy").read_bytes()[:-5]),
            "missing or damaged",
        ),
        (lambda store: (store / "index.npy").unlink(), "missing or damaged"),
        (lambda store: (store / "store.json").write_text("{"), "store.json is damaged"),
        (lambda store: (store / "store.json").write_text('{"format": 1, "splits": []}'), "store.json is damaged"),
        (lambda store: edit(store, format=2), "format 2, not 1"),
        (lambda store: edit(store, shape=[32, 32, 3]), "is not what store.json says"),
        (lambda store: edit(store, splits={"train": 9}), "is not what store.json says"),
        (lambda store: edit(store, splits={"train": -1}), "store.json is damaged"),
        (lambda store: edit(store, image_ids=["a"]), "store.json is damaged"),
        (lambda store: edit(store, image_ids=[1] * 8), "store.json is damaged"),
        (lambda store: edit(store, dataset="cifar10"), "holds cifar10, not folder"),
    ],
)
def test_it_rejects_a_damaged_store(store: Path, change: Callable[[Path], object], says: str) -> None:
    change(store)
    with pytest.raises(DatasetRefusal, match=says) as refused:
        load_dataset(f"folder:{store}")
    assert refused.value.fix


def edit(store: Path, **changes: object) -> None:
    content = json.loads((store / "store.json").read_text()) | changes
    (store / "store.json").write_text(json.dumps(content))


def test_a_damaged_tree_leaves_no_store(tree: Dataset, tmp_path: Path) -> None:
    (tmp_path / "tree" / "train" / "cat" / "20.png").write_bytes(b"not an image")
    with pytest.raises(DatasetRefusal, match=r"train/cat/20.png: corrupt"):
        prepare(tree, "folder", tmp_path / "store", on_image=lambda split, total: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tree"]


def test_an_interrupted_preparation_leaves_no_store(tree: Dataset, tmp_path: Path) -> None:
    def interrupt(split: str, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(tree, "folder", tmp_path / "store", on_image=interrupt)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tree"]


def test_it_replaces_nothing(tree: Dataset, store: Path) -> None:
    with pytest.raises(DatasetRefusal, match="exists already"):
        prepare(tree, "folder", store, on_image=lambda split, total: None)
    assert len(load_dataset(f"folder:{store}").samples("train")) == 6


def test_it_refuses_a_full_disk(tree: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared_store, "IMAGES", "/dev/full")
    with pytest.raises(DatasetRefusal, match="No space left on device"):
        prepare(tree, "folder", tmp_path / "store", on_image=lambda split, total: None)
    assert not (tmp_path / "store").exists()


def test_the_data_without_a_path_may_be_one_store(
    tree: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tree, "cifar10", tmp_path / "mine", on_image=lambda split, total: None)
    monkeypatch.setenv("GAUNTLET_DATA", str(tmp_path / "mine"))
    assert len(load_dataset("cifar10").samples("train")) == 6
    with pytest.raises(DatasetRefusal, match="holds cifar10, not tiny-imagenet"):
        load_dataset("tiny-imagenet")
