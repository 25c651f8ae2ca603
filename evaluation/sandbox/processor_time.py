"""Processor time of a process and of those that it started, from Linux's /proc."""

from __future__ import annotations

import os
from pathlib import Path

_FIRST, _LAST = 11, 15  # after the name: user, system, and both of the children that were waited for


def processor_seconds(pid: int) -> float | None:
    """Return the processor seconds of process `pid` and all that descend from it; None if it is gone, or without /proc.

    Ended processes count where their parent waited for them.
    """
    ticks = _ticks(pid)
    if ticks is None:
        return None
    waiting = _children(pid)
    seen = {pid}
    while waiting:
        child = waiting.pop()
        if child not in seen:
            seen.add(child)
            ticks += _ticks(child) or 0
            waiting += _children(child)
    return ticks / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return sum(map(int, fields[_FIRST:_LAST]))


def _children(pid: int) -> list[int]:
    """Return the children of all threads of a process."""
    found: list[int] = []
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return found
    for thread in threads:
        try:
            found += map(int, Path(thread, "children").read_text().split())
        except OSError:  # it has just ended
            continue
    return found
