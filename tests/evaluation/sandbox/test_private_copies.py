"""Copies of a player's directory: complete, and gone with the process that made them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from evaluation.sandbox.private_copies import copy_files, remove_copy
from evaluation.sandbox.process_sandbox import ProcessSandbox

LEAVE = "import sys; from pathlib import Path; from evaluation.sandbox.private_copies import copy_files; import os; "
LEAVE += "copy_files(Path(sys.argv[1])); os.kill(os.getpid(), 9)"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return place


@pytest.fixture
def files(tmp_path: Path) -> Path:
    directory = tmp_path / "player"
    (directory / "inner").mkdir(parents=True)
    (directory / "inner" / "main.py").write_text("print(1)")
    (directory / "main.py").symlink_to("inner/main.py")
    return directory


def test_a_copy_is_complete_and_its_removal_leaves_nothing(temporary: Path, files: Path) -> None:
    copy = copy_files(files)
    assert (copy / "main.py").readlink() == Path("inner/main.py")
    assert (copy / "main.py").read_text() == "print(1)"
    assert (copy / "inner/main.py").stat().st_ino != (files / "inner/main.py").stat().st_ino
    remove_copy(copy)
    assert list(temporary.iterdir()) == []


def test_a_sweep_removes_what_a_killed_worker_left(temporary: Path, files: Path) -> None:
    kept = copy_files(files)
    subprocess.run([sys.executable, "-c", LEAVE, str(files)], check=False)
    assert len(list(temporary.glob("gauntlet-files-*"))) == 2
    assert ProcessSandbox().sweep() == 1
    assert [path / "files" for path in temporary.glob("gauntlet-files-*")] == [kept]


def test_nothing_is_left_of_a_copy_that_fails(temporary: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        copy_files(tmp_path / "missing")
    assert list(temporary.iterdir()) == []
