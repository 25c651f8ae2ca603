"""Who pushes to a repository just now, so that what a killed git leaves behind can be told from what is in use."""

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
from repositories.git_command import answer_of

log = logging.getLogger(__name__)

LEFTOVERS = ("tmp_objdir-*", "incoming-*", "pack/tmp_*", "pack/.tmp-*")
PACK_SECONDS = 30.0


class PushLock:
    """One push to the bare repository `path`, until it leaves. The first and the last one tidy up."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _lock_of(path)
        _tidy_if_alone(self._file, path)
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def leave(self) -> None:
        """The push is over, however it ended."""
        with self._file:
            _tidy_if_alone(self._file, self._path)


def clean_up(path: Path) -> None:
    """Tidy up the bare repository `path`, if nobody pushes to it just now."""
    with _lock_of(path) as file:
        _tidy_if_alone(file, path)


def _lock_of(path: Path) -> IO[str]:
    return (path / "pushes.lock").open("a")


def _tidy_if_alone(file: IO[str], path: Path) -> None:
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
    shutil.rmtree(path / "logs", ignore_errors=True)  # what an earlier version logged of refs
    _pack_refs(path)


def _pack_refs(path: Path) -> None:
    """Keep all refs in one file: each for itself takes a block of the disk, and time whenever they are listed."""
    refs = path / "refs"
    try:
        if any(names for _, _, names in os.walk(refs)):
            answer_of(path, "pack-refs", "--all", seconds=PACK_SECONDS)
    except Fault as fault:  # the next push tries again; this one has been taken
        faults.report(log, fault, "the refs of %s cannot be packed", path)
    for folder, _, _ in os.walk(refs, topdown=False):
        if Path(folder) not in (refs, refs / "heads", refs / "tags"):
            with suppress(OSError):  # it is not empty
                Path(folder).rmdir()
