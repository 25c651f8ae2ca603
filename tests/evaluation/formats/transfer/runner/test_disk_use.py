"""What a run uses of the disk, also where it hides it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from evaluation.domain.errors import HostFault
from evaluation.formats.transfer.runner.disk_use import DiskAllowance, allowance_beyond

NOBODY = 65534


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory of the user of this process, which is not root: root could read everything."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as made:
        if root:
            os.chown(made, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            yield Path(made)
        finally:
            if root:
                os.seteuid(0)


def allowance(directory: Path) -> DiskAllowance:
    return allowance_beyond([directory], files=3, size=100_000)


def test_only_what_a_run_adds_counts_against_its_limit(directory: Path) -> None:
    (directory / "there").write_bytes(bytes(200_000))
    allowed = allowance(directory)
    (directory / "new").mkdir()
    (directory / "new" / "file").write_bytes(bytes(50_000))
    assert not allowed.exceeded(ended=True)
    (directory / "new" / "another").write_bytes(bytes(60_000))
    assert allowed.exceeded(ended=False)


@pytest.mark.parametrize("mode", [0o300, 0o444, 0])
def test_a_directory_that_cannot_be_read_counts_once_the_run_has_ended(directory: Path, mode: int) -> None:
    allowed = allowance(directory)
    (directory / "hidden").mkdir()
    (directory / "hidden" / "file").touch()
    (directory / "hidden").chmod(mode)
    assert not allowed.exceeded(ended=False)
    assert allowed.exceeded(ended=True)


def test_a_file_system_with_room_for_few_files_is_full(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = allowance(directory)
    assert allowed.shortage() == ""
    figures = SimpleNamespace(f_bavail=1 << 40, f_frsize=1, f_files=1 << 20, f_favail=9_999)
    monkeypatch.setattr(os, "statvfs", lambda path: figures)
    assert allowed.shortage() == "room for 9,999 more files"
    with pytest.raises(HostFault, match="has room for 9,999 more files, and a run may write 0 MiB in 3 files"):
        allowance(directory)
    figures.f_files = figures.f_favail = 0  # as on a file system without a fixed number of files
    assert allowed.shortage() == ""
