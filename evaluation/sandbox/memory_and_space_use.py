"""Memory, processes and scratch space of a player, from Linux's /proc and its control groups."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection
from pathlib import Path

from evaluation.sandbox.base import SpaceUse

_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")
_PEAK = re.compile(r"^VmHWM:\s+([0-9]+) kB$", re.MULTILINE)
_THREADS = re.compile(r"^Threads:\s+([0-9]+)$", re.MULTILINE)


def space_of_processes(pids: Collection[int], *, private: str | None) -> SpaceUse:
    """Return what the processes `pids` use: the sum of the most that each had in memory, and their threads.

    `private`: the path of a file system in memory that is theirs alone, None if they have none.
    """
    memory = threads = scratch = None
    for pid in pids:
        try:
            status = (_PROC / str(pid) / "status").read_text(errors="replace")  # the name may hold anything
        except OSError:  # it has just ended
            continue
        # a process that has ended and is not waited for has no memory
        if (peak := _PEAK.search(status)) and (count := _THREADS.search(status)):
            memory = (memory or 0) + int(peak[1]) * 1024
            threads = (threads or 0) + int(count[1])
            if private is not None and (held := _in_memory(pid, private)) is not None:
                scratch = max(scratch or 0, held)
    return SpaceUse(memory, threads, scratch)


def space_of_control_group(file: Path, pids: Collection[int], *, private: str) -> SpaceUse:
    """Return what the control group of `file` (see `control_group_file`) has used at most, or uses now.

    Kernels with one tree of groups for each controller (version 1) keep memory and processes beside `file`.
    """
    memory = processes = file.parent
    if file.name == "cpuacct.usage":
        _, *path = memory.relative_to(_GROUPS).parts
        memory, processes = _GROUPS.joinpath("memory", *path), _GROUPS.joinpath("pids", *path)
    scratch = [held for pid in pids if (held := _in_memory(pid, private)) is not None]
    return SpaceUse(
        _number(memory, "memory.peak", "memory.max_usage_in_bytes", "memory.current"),
        _number(processes, "pids.peak", "pids.current"),
        max(scratch, default=None),
    )


def _number(folder: Path, *names: str) -> int | None:
    """Return the number in the first of these files that is there."""
    for name in names:
        with contextlib.suppress(OSError, ValueError):
            return int((folder / name).read_text())
    return None


def _in_memory(pid: int, path: str) -> int | None:
    """Return the bytes used on the file system that process `pid` sees at `path`; None if it is that of this host."""
    seen = f"/proc/{pid}/root{path}"
    try:
        if os.stat(seen).st_dev == os.stat(path).st_dev:  # noqa: PTH116 - two file systems are compared
            return None
        found = os.statvfs(seen)
    except OSError:
        return None
    return (found.f_blocks - found.f_bfree) * found.f_frsize
