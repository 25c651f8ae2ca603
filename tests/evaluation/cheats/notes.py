"""Tests of programs that leave notes in the kernel, one at a time: all of them use the same files."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KERNEL_OBJECTS = Path(__file__).resolve().parents[2] / "repos/cheats/model-passes-notes-by-kernel-objects"


@contextmanager
def no_other_notes() -> Iterator[None]:
    """Wait for the tests in other processes of this machine."""
    with (KERNEL_OBJECTS / "submission.toml").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
