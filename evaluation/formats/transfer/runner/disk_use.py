"""What a run writes to the disk of this host, whose file system gives it no limit of its own, and what is left."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.domain.errors import HostFault

LEAST_FREE_BYTES, LEAST_FREE_FILES = 64 << 20, 10_000
"""With less, a program may fail although it keeps its limits, and its result says nothing about it."""

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK = 512  # bytes, the unit of st_blocks on every system
_DEPTH = 64
_GONE = (FileNotFoundError, NotADirectoryError)  # removed or replaced meanwhile


@dataclass(frozen=True)
class DiskAllowance:
    """The most files and bytes below directories of one file system."""

    directories: tuple[Path, ...]
    files: int
    bytes: int

    def exceeded(self, *, ended: bool, deleted: int = 0) -> bool:
        """Return True if there are more files or bytes, or directories nested deeper than 64.

        `deleted` are the bytes of deleted files that the run still holds. Once the run has `ended`, a directory that
        cannot be read exceeds it, too: it was made so to hide its size.
        """
        used = self._used(ended=ended)
        return used is None or used[1] + deleted > self.bytes

    def left(self) -> tuple[int, int] | None:
        """Return how many more files and bytes the run, which has ended, could have written; None beyond the limit."""
        used = self._used(ended=True)
        return None if used is None else (self.files - used[0], self.bytes - used[1])

    def _used(self, *, ended: bool) -> tuple[int, int] | None:
        count = size = 0
        for directory in self.directories:
            found = _measure(directory, self.files - count, strict=ended)
            if found is None:
                return None
            count, size = count + found[0], size + found[1]
        return count, size

    def device(self) -> int:
        """Return the number of their file system, as in `os.stat_result.st_dev`."""
        return self.directories[0].stat().st_dev

    def shortage(self, *, files: int = 0, size: int = 0) -> str:
        """Return what their file system lacks for so many further files and bytes, "" if it lacks nothing."""
        found = os.statvfs(self.directories[0])
        free = found.f_bavail * found.f_frsize
        if free < size + LEAST_FREE_BYTES:
            return f"{free >> 20:,} MiB free"
        # a file system without a fixed number of files says 0
        if found.f_files and found.f_favail < files + LEAST_FREE_FILES:
            return f"room for {found.f_favail:,} more files"
        return ""


def allowance_beyond(directories: Sequence[Path], *, files: int, size: int) -> DiskAllowance:
    """Return the allowance for so many files and bytes beyond what is there. Raise `HostFault` without space."""
    # code that is nested too deeply exceeds the allowance at once, as if the run had written it
    present = [_measure(directory, None, strict=True) or (0, 0) for directory in directories]
    allowed = DiskAllowance(
        tuple(directories), files + sum(count for count, _ in present), size + sum(used for _, used in present)
    )
    if shortage := allowed.shortage(files=files, size=size):
        raise HostFault(
            f"the file system of {directories[0]} has {shortage}, and a run may write {size >> 20:,} MiB in {files:,} "
            "files; free some, or name a directory of another one in TMPDIR"
        )
    return allowed


def _measure(directory: Path, most: int | None, *, strict: bool) -> tuple[int, int] | None:
    """Return the number of files and directories below `directory`, and their bytes; None with more than `most`.

    It goes from descriptor to descriptor, so that no path is too long. With `strict` the answer is None, too, if a
    directory cannot be read or searched; otherwise it is skipped.
    """
    count = size = 0
    # descriptors from the top, each with the names of the directories still to visit
    levels = [(os.open(directory.parent, _FLAGS), [directory.name])]
    try:
        while levels:
            parent, waiting = levels[-1]
            if not waiting:
                os.close(levels.pop()[0])
                continue
            try:
                opened = os.open(waiting.pop(), _FLAGS, dir_fd=parent)
                directories: list[str] = []
                levels.append((opened, directories))
                found, used = _list(opened, None if most is None else most - count, directories)
            except OSError as error:
                if strict and not isinstance(error, _GONE):
                    return None
                continue
            count, size = count + found, size + used
            if len(levels) > _DEPTH + 1 or (most is not None and count > most):
                return None
    finally:
        for descriptor, _ in levels:
            os.close(descriptor)
    return count, size


def _list(directory: int, most: int | None, directories: list[str]) -> tuple[int, int]:
    """Return the number of entries and their bytes, and append the directories; stop after more than `most`."""
    count = size = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
            except _GONE:
                continue
            count, size = count + 1, size + found.st_blocks * _BLOCK
            if stat.S_ISDIR(found.st_mode):
                directories.append(entry.name)
            if most is not None and count > most:
                break
    return count, size
