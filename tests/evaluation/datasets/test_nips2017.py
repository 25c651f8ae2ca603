from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.datasets.base import Dataset, with_targets
from evaluation.datasets.load import load_dataset
from evaluation.domain.errors import DatasetRefusal

HEADER = "ImageId,URL,x1,y1,x2,y2,TrueLabel,TargetClass,OriginalLandingURL,License,Author,AuthorProfileURL"


def row(name: str, label: object, target: object) -> str:
    tail = 'https://example.org/page,https://creativecommons.org/licenses/by/2.0/,"Doe, Jane",https://example.org/jane'
    return f"{name},https://example.org/{name}.jpg,0.1,0.2,0.9,1.0,{label},{target},{tail}"


@pytest.fixture
def tree(tmp_path: Path, write_image: Callable[..., None]) -> Path:
    rows = [row("0c7ac4a8c9dfa802", 305, 326), row("f43fbfe8a9ea876c", 1, 1000), row("45986a5dfaba4d2c", 1000, 1)]
    (tmp_path / "images.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    for k, name in enumerate(("0c7ac4a8c9dfa802", "f43fbfe8a9ea876c", "45986a5dfaba4d2c")):
        write_image(tmp_path / "images" / f"{name}.png", 10 * k, side=299)
    return tmp_path


def load(tree: Path) -> Dataset:
    return load_dataset(f"nips2017:{tree}")


def test_samples_have_the_labels_targets_and_identifiers_of_the_table(tree: Path) -> None:
    dataset = load(tree)
    assert dataset.shape == (299, 299, 3)
    assert dataset.classes == 1000
    assert list(dataset.splits) == ["dev"]
    samples = dataset.samples("dev")
    assert [(sample.label, sample.target) for sample in samples] == [(304, 325), (0, 999), (999, 0)]
    assert [sample.image_id for sample in samples] == ["0c7ac4a8c9dfa802", "f43fbfe8a9ea876c", "45986a5dfaba4d2c"]
    assert [int(sample.image.max()) for sample in samples] == [0, 10, 20]
    # the class name is the number that the competition's table gives
    assert dataset.class_names[samples[0].label] == "305"


def test_its_targets_stay(tree: Path) -> None:
    samples = load(tree).samples("dev")
    assert [sample.target for sample in with_targets(samples, 1000, 5)] == [325, 999, 0]


def test_it_rejects_bad_files_all_at_once(tree: Path, write_image: Callable[..., None]) -> None:
    lines = [row("zero", 0, 5), row("big", 1001, 5), row("empty", "", 5), row("lost", 7, 5), row("same", 7, 7)]
    lines += [row("45986a5dfaba4d2c", 2, 3)]
    with (tree / "images.csv").open("a") as table:
        table.write("\n".join(lines) + "\n")
    write_image(tree / "images" / "stray.png", side=299)
    write_image(tree / "images" / "f43fbfe8a9ea876c.png", side=300)
    (tree / "images" / "0c7ac4a8c9dfa802.png").write_bytes(b"not a picture")
    with pytest.raises(DatasetRefusal) as caught:
        load(tree).samples("dev")
    problem = caught.value.problem
    assert "9 problems" in problem
    for name in ("zero", "big", "empty", "stray"):
        assert f"images/{name}.png: unlabelled" in problem
    assert "images/lost.png: missing" in problem
    assert "images/same.png: its target is its true label" in problem
    assert "images/45986a5dfaba4d2c.png: listed more than once in images.csv" in problem
    assert "images/f43fbfe8a9ea876c.png: is 300 x 300 pixels, not 299 x 299" in problem
    assert "images/0c7ac4a8c9dfa802.png: corrupt, or not an image" in problem


def test_it_rejects_another_mode(tree: Path, write_image: Callable[..., None]) -> None:
    write_image(tree / "images" / "f43fbfe8a9ea876c.png", side=299, mode="RGBA")
    with pytest.raises(DatasetRefusal, match="has mode RGBA"):
        load(tree).samples("dev")


def test_it_rejects_a_table_without_its_columns(tree: Path) -> None:
    (tree / "images.csv").write_text("ImageId,Label\n")
    with pytest.raises(DatasetRefusal, match="no column TrueLabel, TargetClass"):
        load(tree)


def test_it_rejects_an_empty_table(tree: Path) -> None:
    (tree / "images.csv").write_text(HEADER + "\n")
    for path in (tree / "images").iterdir():
        path.unlink()
    with pytest.raises(DatasetRefusal, match="contains no image"):
        load(tree).samples("dev")


def test_the_table_may_have_the_name_that_the_competition_gave_it(tree: Path) -> None:
    (tree / "images.csv").rename(tree / "dev_dataset.csv")
    assert [sample.label for sample in load(tree).samples("dev")] == [304, 0, 999]


def test_a_problem_names_the_table_that_was_read(tree: Path, write_image: Callable[..., None]) -> None:
    (tree / "images.csv").rename(tree / "dev_dataset.csv")
    write_image(tree / "images" / "stray.png", side=299)
    with pytest.raises(DatasetRefusal, match=r"stray\.png: unlabelled, not listed in dev_dataset\.csv"):
        load(tree).samples("dev")


def test_it_rejects_a_folder_without_a_table(tmp_path: Path) -> None:
    with pytest.raises(DatasetRefusal, match=r"neither images\.csv nor dev_dataset\.csv exists"):
        load(tmp_path)
