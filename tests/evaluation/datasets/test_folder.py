from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image as Picture
from PIL import TiffImagePlugin
from PIL.ExifTags import Base
from PIL.PngImagePlugin import putchunk

from evaluation.datasets.base import Dataset
from evaluation.datasets.load import load_dataset
from evaluation.domain.errors import DatasetRefusal


@pytest.fixture
def tree(tmp_path: Path, write_image: Callable[..., None]) -> Path:
    for split, count in (("dev", 1), ("validation", 2)):
        for label, name in enumerate(("ant", "bee", "cat")):
            for k in range(count):
                write_image(tmp_path / split / name / f"{k}.png", 50 * label + k, side=16)
    return tmp_path


def load(tree: Path) -> Dataset:
    return load_dataset(f"folder:{tree}")


def test_folders_are_classes_in_order_and_samples_take_turns_between_them(tree: Path) -> None:
    dataset = load(tree)
    assert dataset.class_names == ("ant", "bee", "cat")
    assert dataset.shape == (16, 16, 3)
    assert set(dataset.splits) == {"dev", "validation"}
    samples = dataset.samples("validation")
    assert [sample.label for sample in samples] == [0, 1, 2, 0, 1, 2]
    assert [int(sample.image[0, 0, 0]) for sample in samples] == [0, 50, 100, 1, 51, 101]
    assert [sample.label for sample in dataset.samples("validation", 2)] == [0, 1]


def test_a_tree_without_splits_is_one_split(tree: Path) -> None:
    dataset = load(tree / "validation")
    assert list(dataset.splits) == ["all"]
    assert len(dataset.samples("all")) == 6


def test_a_class_has_one_label_in_all_splits(tree: Path, write_image: Callable[..., None]) -> None:
    write_image(tree / "dev" / "asp" / "0.png", side=16)
    assert load(tree).class_names == ("ant", "asp", "bee", "cat")
    assert [sample.label for sample in load(tree).samples("validation", 3)] == [0, 2, 3]


def test_it_rejects_bad_files_all_at_once(tree: Path, write_image: Callable[..., None]) -> None:
    split = tree / "validation"
    (split / "ant" / "notes.txt").write_text("not a picture")
    write_image(split / "bee" / "wide.png", side=20)
    write_image(split / "stray.png", side=16)
    write_image(tree / "lost.png", side=16)
    (split / "dog").mkdir()
    (split / "cat" / "0.png").write_bytes((split / "cat" / "0.png").read_bytes()[:-30])
    with pytest.raises(DatasetRefusal) as caught:
        load(tree).samples("validation")
    problem = caught.value.problem
    assert "6 problems" in problem
    assert "validation/ant/notes.txt: corrupt, or not an image" in problem
    assert "validation/bee/wide.png: is 20 x 20 pixels, not 16 x 16" in problem
    assert "validation/stray.png: unlabelled" in problem
    assert "lost.png: unlabelled" in problem
    assert "validation/dog: the class folder is empty" in problem
    assert "validation/cat/0.png: corrupt" in problem


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp"])
def test_it_rejects_images_that_are_to_be_shown_turned(tree: Path, suffix: str) -> None:
    """Cameras store a picture as their sensor lies, and say how to turn it; every viewer does so."""
    exif = Picture.Exif()
    for name, orientation in (("turned", 6), ("upright", 1)):
        exif[Base.Orientation] = orientation
        Picture.new("RGB", (16, 16)).save(tree / "dev" / "ant" / f"{name}.{suffix}", exif=exif)
    with pytest.raises(DatasetRefusal, match="1 problem\n") as caught:
        load(tree).samples("dev")
    assert f"dev/ant/turned.{suffix}: is stored turned" in caught.value.problem


@pytest.mark.parametrize("colour", [0, 2], ids=["greyscale", "RGB"])
def test_it_rejects_images_of_16_bits_per_channel(tree: Path, colour: int) -> None:
    with (tree / "dev" / "ant" / "fine.png").open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        putchunk(file, b"IHDR", struct.pack(">IIBBBBB", 16, 16, 16, colour, 0, 0, 0))
        putchunk(file, b"IDAT", zlib.compress(16 * (b"\0" + bytes(16 * 2 * (colour + 1)))))
        putchunk(file, b"IEND", b"")
    with pytest.raises(DatasetRefusal, match="1 problem\n") as caught:
        load(tree).samples("dev")
    assert "dev/ant/fine.png: has more than 8 bits per channel" in caught.value.problem


def test_it_rejects_images_of_16_bits_of_formats_other_than_png(tree: Path) -> None:
    Picture.new("I;16", (16, 16)).save(tree / "dev" / "ant" / "grey.tiff")
    (tree / "dev" / "ant" / "fine.ppm").write_bytes(b"P6 16 16 65535\n" + bytes(16 * 16 * 6))
    directory = TiffImagePlugin.ImageFileDirectory_v2()
    for tag, value in {256: 16, 257: 16, 258: (16, 16, 16), 262: 2, 273: 0, 277: 3}.items():
        directory[tag] = value
    (tree / "dev" / "ant" / "fine.tiff").write_bytes(b"II*\0\x08\0\0\0" + directory.tobytes(8) + bytes(16 * 16 * 6))
    with pytest.raises(DatasetRefusal, match="3 problems\n") as caught:
        load(tree).samples("dev")
    assert caught.value.problem.count("has more than 8 bits per channel") == 3


@pytest.mark.parametrize(("mode", "colour"), [("RGB", (0, 0, 0)), ("L", 0)])
def test_it_rejects_images_with_a_transparent_colour(tree: Path, mode: str, colour: int | tuple[int, ...]) -> None:
    Picture.new(mode, (16, 16)).save(tree / "dev" / "ant" / "logo.png", transparency=colour)
    with pytest.raises(DatasetRefusal, match="1 problem\n") as caught:
        load(tree).samples("dev")
    assert "dev/ant/logo.png: has a transparent colour" in caught.value.problem


@pytest.mark.parametrize("suffix", ["png", "gif", "webp", "tiff"])
def test_it_rejects_images_of_several_frames(tree: Path, suffix: str) -> None:
    frames = [Picture.linear_gradient("L").resize((16, 16)).rotate(angle) for angle in (0, 90, 180)]
    frames[0].save(tree / "dev" / "ant" / f"moving.{suffix}", save_all=True, append_images=frames[1:])
    with pytest.raises(DatasetRefusal, match="1 problem\n") as caught:
        load(tree).samples("dev")
    assert f"dev/ant/moving.{suffix}: has several frames or pages" in caught.value.problem


def test_a_preview_within_a_photograph_is_no_second_frame(tree: Path) -> None:
    """Cameras write a smaller copy behind a JPEG image, which no viewer shows."""
    picture = Picture.new("RGB", (16, 16))
    picture.save(tree / "dev" / "ant" / "photograph.jpg", "MPO", save_all=True, append_images=[picture.resize((8, 8))])
    assert len(load(tree).samples("dev")) == 4


def test_images_with_damaged_exif_data_are_read(tree: Path) -> None:
    path = tree / "dev" / "ant" / "damaged.jpg"
    Picture.new("RGB", (16, 16)).save(path, exif=b"Exif\0\0" + b"no header of TIFF")
    assert len(load(tree).samples("dev")) == 4


def test_it_rejects_damaged_files_of_every_format(tree: Path, write_image: Callable[..., None]) -> None:
    """Decoders of some formats raise errors of their own: AVIF a `RuntimeError`, DDS a `NotImplementedError`."""
    split = tree / "validation"
    for suffix, kept in (("avif", 0.5), ("dds", 1.0), ("webp", 0.5)):
        path = split / "ant" / f"damaged.{suffix}"
        write_image(path, side=16)
        content = bytearray(path.read_bytes())
        if suffix == "dds":
            content[80:84] = bytes(4)  # flags of the pixel format: none
        path.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(DatasetRefusal) as caught:
        load(tree).samples("validation")
    for suffix in ("avif", "dds", "webp"):
        assert f"validation/ant/damaged.{suffix}: corrupt, or not an image" in caught.value.problem


def test_it_rejects_a_tree_without_one_readable_image(tree: Path) -> None:
    for path in tree.rglob("*.png"):
        path.write_bytes(b"")
    with pytest.raises(DatasetRefusal, match="9 problems"):
        load(tree)


def test_it_rejects_a_path_that_is_no_folder(tree: Path) -> None:
    with pytest.raises(DatasetRefusal, match="is not a folder"):
        load(tree / "nowhere")


def test_it_rejects_a_class_whose_name_is_no_text(tree: Path) -> None:
    (tree / "dev" / os.fsdecode(b"caf\xe9")).mkdir()
    with pytest.raises(DatasetRefusal, match=r"'caf\\udce9', which is not UTF-8"):
        load_dataset(f"folder:{tree}")


def test_it_rejects_fewer_than_two_classes(tree: Path) -> None:
    with pytest.raises(DatasetRefusal, match="has 0 class folders"):
        load(tree / "dev" / "ant")
