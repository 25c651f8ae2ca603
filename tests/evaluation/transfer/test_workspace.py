"""Directories of runs: gone at the end, and swept if their runner died."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from evaluation.sandbox.host_process import HostProcess, host_name
from evaluation.transfer.workspace import sweep_workspaces, workspace


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_works(temporary: Path) -> None:
    with workspace() as places:
        assert [place.stat().st_mode & 0o777 for place in places] == [0o755, 0o755, 0o777, 0o755]
        assert places[0].parent.stat().st_mode & 0o777 == 0o700
        assert sweep_workspaces() == 0
        assert all(place.is_dir() for place in places)
    assert not list(temporary.iterdir())


def test_the_directories_of_a_dead_runner_are_removed(temporary: Path) -> None:
    with workspace() as places:
        own = HostProcess.current()
        (places[0].parent / "runner").write_text(f"{host_name()}:{own.pid}:{own.started + 1}")
        assert sweep_workspaces() == 1
        assert not list(temporary.iterdir())


def test_a_folder_that_is_not_readable_as_a_workspace_is_left_alone(temporary: Path) -> None:
    (temporary / "gauntlet-batch-other").mkdir()
    assert sweep_workspaces() == 0
    assert (temporary / "gauntlet-batch-other").is_dir()
