"""The processes of a site on one host."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from demo import supervisor
from demo.supervisor import SiteSupervisor

STUBBORN = """
trap '' TERM QUIT
sleep 1007 &
echo $! >>CHILDREN
trap - QUIT
wait
"""
"""A program that only SIGQUIT ends, and its child, which only SIGKILL does."""


def is_alive(process: str) -> bool:
    """Whether a process runs; one that nobody has waited for does not."""
    try:
        return Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_process_that_is_stopped_by_force_leaves_none_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "STOP_SECONDS", 0.2)
    children = tmp_path / "children"
    children.touch()
    program = ["sh", "-c", STUBBORN.replace("CHILDREN", str(children))]
    monkeypatch.setattr(supervisor, "_worker_command", lambda *words: program)
    site = SiteSupervisor(port=1, processes=1, logs=tmp_path)
    site.start_workers()
    while len(numbers := children.read_text().split()) < 3:
        time.sleep(0.01)
    assert all(map(is_alive, numbers))
    site.stop()
    while any(map(is_alive, numbers)):
        time.sleep(0.01)
