"""The page cache after levelling: every file is entirely out of it, or entirely in it."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.sandbox import page_cache_privacy
from evaluation.sandbox.page_cache_privacy import level_page_cache, resident_pages

PAGES = 64


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """A folder on a disk: of a file system in memory, which the tests' own folders may be on, all is always cached."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


@pytest.fixture(params=["counted", "mapped"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """This host's kernel, and one that cannot count the cached pages of a file."""
    if request.param == "mapped":
        monkeypatch.setattr(page_cache_privacy, "_CACHESTAT", 1 << 20)


def written(path: Path) -> Path:
    path.write_bytes(os.urandom(PAGES * mmap.PAGESIZE))
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return path


def residency(path: Path) -> bytes:
    with path.open("rb") as file:
        return resident_pages(file.fileno(), path.stat().st_size)


def read_every_third(path: Path) -> None:
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for page in range(0, PAGES, 3):
            os.pread(file.fileno(), 1, page * mmap.PAGESIZE)


def test_what_was_read_cannot_be_seen_afterwards(on_disk: Path) -> None:
    note = written(on_disk / "note")
    read_every_third(note)
    assert residency(note).count(1) == len(range(0, PAGES, 3))
    assert level_page_cache([str(on_disk)]) == 1
    assert residency(note) == bytes(PAGES)


@pytest.mark.usefixtures("kernel")
def test_a_file_with_mapped_pages_is_read_to_its_end(on_disk: Path) -> None:
    library = written(on_disk / "library")
    read_every_third(library)
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        mapped.madvise(mmap.MADV_RANDOM)
        assert mapped[3 * mmap.PAGESIZE] is not None
        level_page_cache([str(on_disk)])
        assert residency(library) == b"\1" * PAGES


def test_it_passes_over_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    (tmp_path / "empty").touch()
    os.link(written(tmp_path / "file"), tmp_path / "the same file")
    assert level_page_cache([str(tmp_path), str(tmp_path / "file"), str(tmp_path / "missing")]) == 2
