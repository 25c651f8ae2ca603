"""Who pushes to a repository just now, so that what a killed git leaves behind can be told from what is in use."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path

LEFTOVERS = ("tmp_objdir-*", "incoming-*", "pack/tmp_*", "pack/.tmp-*")


class Presence:
    """One push to the bare repository `path`, until it leaves. The first and the last one tidy up."""

    def __init__(self, path: Path) -> None:
        self._objects = path / "objects"
        self._file = (path / "pushes.lock").open("a")
        self._tidy_if_alone()
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def leave(self) -> None:
        """The push is over, however it ended."""
        with self._file:
            self._tidy_if_alone()

    def _tidy_if_alone(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        for pattern in LEFTOVERS:
            for left in self._objects.glob(pattern):
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink(missing_ok=True)
