"""Processes that share work end with the process that started them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from evaluation.parsing.process_pool import process_pool

PARENT = """
import os, sys, time
from pathlib import Path
from evaluation.parsing.process_pool import process_pool

def work(folder):
    Path(folder, str(os.getpid())).touch()
    time.sleep(600)

if __name__ == "__main__":
    with process_pool(2) as pool:
        for _ in range(4):
            pool.submit(work, sys.argv[1])
"""
PREPARED: list[str] = []


def prepare(word: str) -> None:
    PREPARED.append(word)


def prepared(_: int) -> list[str]:
    return PREPARED


def soon(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_each_process_is_prepared_once() -> None:
    with process_pool(1, prepare, "ready") as pool:
        assert list(pool.map(prepared, range(2))) == [["ready"], ["ready"]]
    assert PREPARED == []


def test_they_end_when_their_parent_is_killed(tmp_path: Path, root: Path) -> None:
    script, working = tmp_path / "parent.py", tmp_path / "working"
    script.write_text(PARENT)
    working.mkdir()
    environment = os.environ | {"PYTHONPATH": str(root)}
    with subprocess.Popen([sys.executable, str(script), str(working)], env=environment) as parent:
        soon(lambda: len(list(working.iterdir())) == 2)
        parent.kill()
    soon(lambda: not any(Path("/proc", each.name).exists() for each in working.iterdir()))
