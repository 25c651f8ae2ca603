"""Processes of a player, and the deleted files that they hold open, from Linux's /proc.

`python process_tree.py DEVICE` prints the `deleted_bytes` of all processes; it needs only the standard library.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

_BLOCK = 512  # bytes, the unit of st_blocks on every system


def children(pid: int) -> list[int]:
    """Return the children of all threads of a process; none without /proc or CONFIG_PROC_CHILDREN."""
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


def process_tree(pid: int) -> set[int]:
    """Return `pid` and all processes that descend from it."""
    waiting, seen = [pid], {pid}
    while waiting:
        new = set(children(waiting.pop())) - seen
        seen |= new
        waiting += new
    return seen


def deleted_bytes(pids: Iterable[int], device: int) -> int:
    """Return the bytes of deleted files on `device` that the processes `pids` hold open or mapped.

    Each file counts once. Files of processes that this user may not examine are not seen, nor those that wait in a
    socket, so this is a lower bound.
    """
    sizes: dict[int, int] = {}
    for pid in pids:
        for kind in ("fd", "map_files"):
            try:
                links = os.scandir(f"/proc/{pid}/{kind}")
            except OSError:  # it has just ended, or belongs to another user
                continue
            with links:
                for link in links:
                    try:
                        found = link.stat()
                    except OSError:
                        continue
                    if found.st_dev == device and not found.st_nlink:
                        sizes[found.st_ino] = found.st_blocks * _BLOCK
    return sum(sizes.values())


if __name__ == "__main__":
    everything = deleted_bytes((int(each.name) for each in Path("/proc").glob("[0-9]*")), int(sys.argv[-1]))
    sys.stdout.write(f"{everything}\n")
