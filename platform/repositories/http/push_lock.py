"""Shared lock of the pushes to a repository: leftovers of a killed git are removed only while nobody pushes."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import IO

from core import faults
from core.errors import Fault
from repositories.git_command import git_output

log = logging.getLogger(__name__)

LEFTOVERS = ("tmp_objdir-*", "incoming-*", "pack/tmp_*", "pack/.tmp-*")
PACK_SECONDS = 30.0


class PushLock:
    """The lock of one push to the bare repository `path`. The first and the last push clean up."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _lock_of(path)
        _clean_up_if_alone(self._file, path)
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def release(self) -> None:
        """Release the lock at the end of the push."""
        with self._file:
            _clean_up_if_alone(self._file, self._path)


def clean_up(path: Path) -> None:
    """Clean up the bare repository `path` if nobody pushes to it now."""
    with _lock_of(path) as file:
        _clean_up_if_alone(file, path)


def _lock_of(path: Path) -> IO[str]:
    return (path / "pushes.lock").open("a")


def _clean_up_if_alone(file: IO[str], path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    for pattern in LEFTOVERS:
        for left in (path / "objects").glob(pattern):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
    shutil.rmtree(path / "logs", ignore_errors=True)  # ref logs of an earlier version
    _pack_refs(path)


def _pack_refs(path: Path) -> None:
    """Keep all refs in one file: each loose ref takes a disk block, and time whenever refs are listed."""
    refs = path / "refs"
    try:
        if any(names for _, _, names in os.walk(refs)):
            git_output(path, "pack-refs", "--all", seconds=PACK_SECONDS)
    except Fault as fault:  # the next push tries again; this one is accepted
        faults.report(log, fault, "the refs of %s cannot be packed", path)
    for folder, _, _ in os.walk(refs, topdown=False):
        if Path(folder) not in (refs, refs / "heads", refs / "tags"):
            with suppress(OSError):  # not empty
                Path(folder).rmdir()
