from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.datasets.base import Dataset
from evaluation.datasets.load import load_dataset
from evaluation.domain.errors import DatasetRefusal

WNIDS = ("n02124075", "n01443537", "n01629819")


@pytest.fixture
def tree(tmp_path: Path, write_image: Callable[..., None]) -> Path:
    """Three classes with two train images and one validation image each."""
    (tmp_path / "wnids.txt").write_text("\n".join(WNIDS) + "\n")
    (tmp_path / "words.txt").write_text("n01443537\tgoldfish\nn01629819\tsalamander\nn02124075\tEgyptian cat\n")
    annotations = []
    for label, wnid in enumerate(WNIDS):
        names = [f"{wnid}_{k}.JPEG" for k in range(2)]
        for k, name in enumerate(names):
            write_image(tmp_path / "train" / wnid / "images" / name, 50 * label + 10 * k)
        boxes = "".join(f"{name}\t0\t10\t63\t58\n" for name in names)
        (tmp_path / "train" / wnid / f"{wnid}_boxes.txt").write_text(boxes)
        write_image(tmp_path / "val" / "images" / f"val_{label}.JPEG", 70 * label)
        annotations.append(f"val_{label}.JPEG\t{wnid}\t0\t32\t44\t62\n")
    (tmp_path / "val" / "val_annotations.txt").write_text("".join(reversed(annotations)))
    write_image(tmp_path / "test" / "images" / "test_0.JPEG")
    return tmp_path


def load(tree: Path) -> Dataset:
    return load_dataset(f"tiny-imagenet:{tree}")


def test_samples_take_turns_between_classes_which_have_their_written_names(tree: Path) -> None:
    dataset = load(tree)
    assert dataset.class_names == ("Egyptian cat", "goldfish", "salamander")
    assert dataset.shape == (64, 64, 3)
    assert set(dataset.splits) == {"train", "validation"}
    train = dataset.samples("train")
    assert [sample.label for sample in train] == [0, 1, 2, 0, 1, 2]
    assert [sample.number for sample in train] == list(range(6))
    assert [int(sample.image[5, 5, 0]) for sample in train] == [0, 50, 100, 10, 60, 110]


def test_validation_is_in_the_order_of_its_annotations(tree: Path) -> None:
    assert [sample.label for sample in load(tree).samples("validation")] == [2, 1, 0]
    assert [sample.label for sample in load(tree).samples("validation", 2)] == [2, 1]


def test_greyscale_files_get_three_equal_channels(tree: Path, write_image: Callable[..., None]) -> None:
    write_image(tree / "val" / "images" / "val_2.JPEG", 90, mode="L")
    image = load(tree).samples("validation")[0].image
    assert image.shape == (64, 64, 3)
    assert (image == 90).all()


def test_it_rejects_bad_files_all_at_once(tree: Path, write_image: Callable[..., None]) -> None:
    images = tree / "val" / "images"
    (images / "val_0.JPEG").unlink()
    (images / "val_1.JPEG").write_bytes((images / "val_1.JPEG").read_bytes()[:200])
    write_image(images / "val_2.JPEG", side=32)
    write_image(images / "val_3.JPEG")
    with (tree / "val" / "val_annotations.txt").open("a") as annotations:
        annotations.write("val_4.JPEG\tn99999999\t0\t0\t1\t1\n")
    with pytest.raises(DatasetRefusal) as caught:
        load(tree).samples("validation")
    problem = caught.value.problem
    assert "5 problems" in problem
    assert "val/images/val_0.JPEG: missing" in problem
    assert "val/images/val_1.JPEG: corrupt" in problem
    assert "val/images/val_2.JPEG: is 32 x 32 pixels, not 64 x 64" in problem
    assert "val/images/val_3.JPEG: unlabelled" in problem
    assert "val/images/val_4.JPEG: unlabelled" in problem


def test_it_rejects_train_images_that_are_lost_or_unlisted(tree: Path, write_image: Callable[..., None]) -> None:
    images = tree / "train" / WNIDS[1] / "images"
    (images / f"{WNIDS[1]}_0.JPEG").rename(images / "other.JPEG")
    write_image(tree / "train" / "n55555555" / "images" / "n55555555_0.JPEG")
    (tree / "train" / WNIDS[2] / f"{WNIDS[2]}_boxes.txt").unlink()
    with pytest.raises(DatasetRefusal) as caught:
        load(tree).samples("train")
    problem = caught.value.problem
    assert f"{WNIDS[1]}_0.JPEG: missing" in problem
    assert "other.JPEG: unlabelled" in problem
    assert "train/n55555555: unlabelled" in problem
    assert f"{WNIDS[2]}_boxes.txt: missing" in problem


def test_it_rejects_a_long_list_with_twenty_names_and_a_count(tree: Path, write_image: Callable[..., None]) -> None:
    for k in range(25):
        write_image(tree / "val" / "images" / f"stray_{k:02}.JPEG", side=2)
    with pytest.raises(DatasetRefusal, match="25 problems") as caught:
        load(tree).samples("validation")
    assert caught.value.problem.count("stray_") == 20
    assert caught.value.problem.endswith("and 5 more")


@pytest.mark.parametrize("name", ["wnids.txt", "words.txt"])
def test_it_rejects_a_tree_without_its_lists(tree: Path, name: str) -> None:
    (tree / name).unlink()
    with pytest.raises(DatasetRefusal, match=f"{re.escape(name)} is missing"):
        load(tree)


def test_it_rejects_classes_without_words(tree: Path) -> None:
    (tree / "words.txt").write_text("n01443537\tgoldfish\nn01629819\tsalamander\n")
    with pytest.raises(DatasetRefusal, match=r"n02124075 of wnids\.txt has no words"):
        load(tree)


def test_it_rejects_a_class_named_twice(tree: Path) -> None:
    (tree / "wnids.txt").write_text("n02124075\nn01443537\nn01443537\n")
    with pytest.raises(DatasetRefusal, match="n01443537 is listed more than once"):
        load(tree)
