"""Figures of the whole host below /proc and /sys, which one player could set for another to read: hidden from both.

The kernel counts pages locked, blocks written, interrupts and the like over all programs since it booted. A program
moves some of these counts to a value of its choice, and they stay there after its end. Left in sight is what every
program also learns from system calls (sysinfo(2)), and what programs need: processors, memory, load, time since boot.
"""

from __future__ import annotations

import functools
from pathlib import Path

from evaluation.sandbox.state_directory import state_directory, write_atomically

_PROC = (
    *("buddyinfo", "cgroups", "diskstats", "fs", "interrupts", "irq", "key-users", "locks", "pagetypeinfo", "pressure"),
    *("schedstat", "slabinfo", "softirqs", "stat", "swaps", "vmallocinfo", "vmstat", "zoneinfo"),
    *("sys/fs/aio-nr", "sys/fs/dentry-state", "sys/fs/file-nr", "sys/fs/inode-nr", "sys/fs/inode-state"),
    *("sys/fs/quota", "sys/kernel/pty/nr", "sys/kernel/random/entropy_avail"),
)
_SYS = (
    *("block/*", "devices/virtual/bdi", "devices/virtual/powercap", "devices/virtual/thermal", "kernel", "power"),
    *("devices/system/node/node*/meminfo", "devices/system/node/node*/numastat", "devices/system/node/node*/vmstat"),
    *("devices/system/cpu/cpu*/cpufreq/stats", "devices/system/cpu/cpu*/cpuidle"),
    "devices/system/cpu/cpu*/thermal_throttle",
    *("fs/bcachefs", "fs/btrfs", "fs/ext4", "fs/f2fs", "fs/xfs"),
)


@functools.cache
def process_figures() -> tuple[Path, ...]:
    """Return the files and directories below /proc that hold such figures on this host."""
    return tuple(path for name in _PROC if (path := Path("/proc") / name).exists())


@functools.cache
def device_figures() -> tuple[Path, ...]:
    """Return those below /sys, without links."""
    return tuple(dict.fromkeys(path.resolve() for name in _SYS for path in sorted(Path("/sys").glob(name))))


def empty_file() -> Path:
    """Return an empty file to show in the place of a figure."""
    path = state_directory("player-proc") / "empty"
    if not path.exists():
        write_atomically(path, "")
    return path
