"""Processor time of the processes of a player, from Linux's /proc and its control groups."""

from __future__ import annotations

import os
from pathlib import Path

from evaluation.sandbox.process_tree import process_tree

_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")
_FIRST, _LAST = 11, 15  # after the name: user, system, and both of the children that were waited for


def processor_seconds(pid: int) -> float | None:
    """Return the processor seconds of process `pid` and all that descend from it; None if it is gone.

    Ended processes count where their parent waited for them. It is also None on a host without /proc, or whose kernel
    does not list children there (CONFIG_PROC_CHILDREN): a player's work is done by descendants.
    """
    ticks = _ticks(pid)
    if ticks is None or not (_PROC / "thread-self" / "children").exists():
        return None
    ticks += sum(_ticks(each) or 0 for each in process_tree(pid) - {pid})
    return ticks / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int | None:
    try:
        # the second field, the name, may hold anything: the kernel cuts it after 15 bytes
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return sum(map(int, fields[_FIRST:_LAST]))


def control_group_file(pid: int, container_id: str) -> Path | None:
    """Return the file with the processor time of a container whose first process is `pid`; None if it is not in sight.

    It is not where this process runs in a container itself.
    """
    try:
        lines = (_PROC / str(pid) / "cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        name = "cpuacct.usage" if "cpuacct" in controllers.split(",") else "" if controllers else "cpu.stat"
        file = _GROUPS / controllers / path.lstrip("/") / name
        if name and container_id in path and file.is_file():
            return file
    return None


def control_group_seconds(file: Path) -> float | None:
    """Return the processor seconds in a file of `control_group_file`; None where its control group is gone."""
    try:
        text = file.read_text()
    except OSError:
        return None
    if file.name == "cpuacct.usage":
        return int(text) / 1e9
    return next((int(line.split()[1]) / 1e6 for line in text.splitlines() if line.startswith("usage_usec ")), None)


def control_group_processes(file: Path) -> list[int]:
    """Return the processes in the control group of a file of `control_group_file`; none where it is gone."""
    try:
        return list(map(int, (file.parent / "cgroup.procs").read_text().split()))
    except OSError:
        return []
