"""Directories of runs: gone at the end, and swept if their runner died."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from evaluation.formats.transfer.runner.run_directories import sweep_workspaces, workspace
from evaluation.sandbox import labelled_directory
from evaluation.sandbox.host_process import HostProcess, host_name
from evaluation.sandbox.process_sandbox import ProcessSandbox

SANDBOX = ProcessSandbox(bubblewrapped=False)
NESTED = "import os\nfor level in range(1500): os.mkdir('d'); os.chdir('d')"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_directories_have_their_permissions_and_are_gone_at_the_end(temporary: Path) -> None:
    with workspace(SANDBOX) as places:
        assert [place.stat().st_mode & 0o777 for place in places] == [0o755, 0o755, 0o777, 0o755]
        assert places[0].parent.stat().st_mode & 0o777 == 0o700
        assert sweep_workspaces(SANDBOX) == 0
        assert all(place.is_dir() for place in places)
    assert not list(temporary.iterdir())


def test_a_tree_of_any_depth_is_removed() -> None:
    """Python's functions for trees fail where they are nested more deeply than its recursion limit."""
    with workspace(SANDBOX) as places:
        subprocess.run([sys.executable, "-c", NESTED], cwd=places[2], check=True)
    assert not places[0].parent.exists()


def test_directories_without_permissions_are_removed() -> None:
    with workspace(SANDBOX) as places:
        (places[2] / "a" / "b").mkdir(parents=True)
        (places[2] / "a" / "b").chmod(0)
        (places[2] / "a").chmod(0)
    assert not places[0].parent.exists()


def test_what_cannot_be_removed_is_left_to_the_next_sweep(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(labelled_directory, "remove_trees", lambda trees: False)
        with workspace(SANDBOX) as places:
            made = places[0].parent
    assert f"{made} could not be removed" in caplog.messages
    monkeypatch.setattr(labelled_directory, "runner_is_dead", lambda label: True)
    assert sweep_workspaces(SANDBOX) == 1
    assert not made.exists()


def test_the_directories_of_a_dead_runner_are_removed(temporary: Path) -> None:
    with workspace(SANDBOX) as places:
        own = HostProcess.current()
        (places[0].parent / "runner").write_text(f"{host_name()}:{own.pid}:{own.started + 1}")
        assert sweep_workspaces(SANDBOX) == 1
        assert not list(temporary.iterdir())


def test_a_folder_that_is_not_readable_as_a_workspace_is_left_alone(temporary: Path) -> None:
    (temporary / "gauntlet-batch-other").mkdir()
    assert sweep_workspaces(SANDBOX) == 0
    assert (temporary / "gauntlet-batch-other").is_dir()
