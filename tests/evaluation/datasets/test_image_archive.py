"""Archives of images are unpacked below a folder, within limits, whatever they say of themselves."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from evaluation.datasets.image_archive import ArchiveLimits, unpack
from evaluation.domain.errors import DatasetRefusal

LIMITS = ArchiveLimits(files=8, bytes=10_000)
IMAGES = {"cat/1.png": b"a", "cat/2.png": b"b", "dog/1.png": b"c"}


def packed(files: Mapping[str, bytes], *, compression: int = zipfile.ZIP_STORED) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file


def below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_images_are_unpacked_and_files_of_the_operating_system_are_left_out(tmp_path: Path) -> None:
    added = {"__MACOSX/cat/._1.png": b"x", "cat/.DS_Store": b"x", "dog/Thumbs.db": b"x"}
    assert unpack(packed(IMAGES | added), tmp_path, LIMITS) == 3
    assert below(tmp_path) == IMAGES


@pytest.mark.parametrize("split", ["train", "validation"])
def test_a_folder_around_splits_is_left_out(tmp_path: Path, split: str) -> None:
    unpack(packed({f"mine/{split}/{name}": content for name, content in IMAGES.items()}), tmp_path, LIMITS)
    assert below(tmp_path) == {f"{split}/{name}": content for name, content in IMAGES.items()}


@pytest.mark.parametrize(
    "name",
    ["../cat/1.png", "/cat/1.png", "cat/../../1.png", "1.png", "a/b/c/d.png", "cat\\..\\1.png", "./cat/./../1.png"],
)
def test_it_rejects_names_outside_the_folders_of_classes(tmp_path: Path, name: str) -> None:
    with pytest.raises(DatasetRefusal, match="1 names in the archive are outside the folders of classes"):
        unpack(packed(IMAGES | {name: b"x"}), tmp_path, LIMITS)
    assert below(tmp_path) == {}


def test_a_link_is_a_file_that_names_its_target(tmp_path: Path) -> None:
    file = packed(IMAGES)
    link = zipfile.ZipInfo("dog/2.png")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    unpack(file, tmp_path, LIMITS)
    assert not (tmp_path / "dog/2.png").is_symlink()
    assert below(tmp_path)["dog/2.png"] == b"/etc/passwd"


def test_it_rejects_a_bomb_before_it_is_large(tmp_path: Path) -> None:
    bomb = packed({"cat/1.png": bytes(50_000_000)}, compression=zipfile.ZIP_DEFLATED)
    assert len(bomb.getvalue()) < 60_000
    limits = ArchiveLimits(files=8, bytes=3 << 20)
    with pytest.raises(DatasetRefusal, match="more than 3 MiB, unpacked"):
        unpack(bomb, tmp_path, limits)
    assert sum(map(len, below(tmp_path).values())) <= limits.bytes


def test_the_limit_is_for_all_files_together(tmp_path: Path) -> None:
    with pytest.raises(DatasetRefusal, match="unpacked"):
        unpack(packed({f"cat/{number}.png": bytes(2_001) for number in range(5)}), tmp_path, LIMITS)
    unpack(packed({f"dog/{number}.png": bytes(2_000) for number in range(5)}), tmp_path, LIMITS)


def test_it_rejects_too_many_files_and_none(tmp_path: Path) -> None:
    with pytest.raises(DatasetRefusal, match="has 9 files, at most 8"):
        unpack(packed({f"cat/{number}.png": b"" for number in range(9)}), tmp_path, LIMITS)
    with pytest.raises(DatasetRefusal, match="contains no files"):
        unpack(packed({"cat/.DS_Store": b""}), tmp_path, LIMITS)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_it_rejects_names_that_contradict_each_other(tmp_path: Path) -> None:
    twice = packed(IMAGES)
    with zipfile.ZipFile(twice, "a") as archive:
        archive.writestr("cat/1.png", b"other")
    with pytest.raises(DatasetRefusal, match="twice in the archive"):
        unpack(twice, tmp_path, LIMITS)
    with pytest.raises(DatasetRefusal, match="a file and a folder"):
        unpack(packed({"train/cat": b"", "train/cat/1.png": b""}), tmp_path, LIMITS)


def test_it_rejects_what_is_no_archive_or_damaged(tmp_path: Path) -> None:
    whole = packed(IMAGES).getvalue()
    damaged = whole.replace(b"cat/1.pnga", b"cat/1.pngX", 1)
    for content in (b"", b"no archive", whole[:-10], damaged):
        with pytest.raises(DatasetRefusal, match="damaged, encrypted or no ZIP file"):
            unpack(io.BytesIO(content), tmp_path, LIMITS)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_wherever_it_is_damaged_it_is_unpacked_or_refused(tmp_path: Path, compression: int) -> None:
    whole = packed({name: content * 400 for name, content in IMAGES.items()}, compression=compression).getvalue()
    refused = 0
    for place in range(len(whole)):
        folder = tmp_path / str(place)
        folder.mkdir()
        try:
            unpack(io.BytesIO(whole[:place] + bytes([whole[place] ^ 0x81]) + whole[place + 1 :]), folder, LIMITS)
        except DatasetRefusal:
            refused += 1
    assert refused > 100
