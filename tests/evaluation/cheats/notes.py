"""Tests of one cheat take turns: its notes are in objects of the kernel, which the tests in other processes see."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CHEATS = Path(__file__).resolve().parents[2] / "repos/cheats"
KERNEL_OBJECTS = CHEATS / "model-passes-notes-by-kernel-objects"
LOCKS = CHEATS / "model-passes-notes-by-locks"
PAGE_CACHE = CHEATS / "model-passes-notes-by-page-cache"


@contextmanager
def in_turn(cheat: Path) -> Iterator[None]:
    """Wait until no test in another process plays `cheat`."""
    with (cheat / "submission.toml").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if cheat == KERNEL_OBJECTS:  # a count of the host and a time of its file still say what an earlier test left
            subprocess.run([sys.executable, "channels.py", "clear", "of this model"], cwd=cheat, check=True)
        yield
