"""Memory of the host: it shows whether a killed player or build reached its own limit or the host's."""

from __future__ import annotations

from pathlib import Path

_PROC = Path("/proc")


class HostMemory:
    """The kernel's counters of this host's memory, from the start of a run to its end."""

    def __init__(self, limit: int, proc: Path = _PROC) -> None:
        """Take the limit of the run in bytes, and the directory `proc` of the kernel's counters (proc(5))."""
        self._limit = limit
        self._proc = proc
        self._kills = self._seen = self._read("vmstat", "oom_kill")

    def look(self) -> None:
        """Note how many processes of this host the kernel has killed for memory so far."""
        self._seen = self._read("vmstat", "oom_kill")

    def kernel_has_killed(self) -> bool:
        """Return whether the kernel has killed a process of this host for memory since the last look, or the start."""
        kills = self._read("vmstat", "oom_kill")
        return kills is not None and kills != self._seen

    def shortage(self) -> str:
        """Return why the host's memory caused the end of a run killed just now; empty if it did not.

        The host ran out of memory first if the kernel killed a process for memory since the start, and less than the
        limit of the run is free now. One that reached its limit leaves that much free memory behind.
        """
        kills, free = self._read("vmstat", "oom_kill"), self._read("meminfo", "MemAvailable:")
        if kills is None or free is None or kills == self._kills or free * 1024 >= self._limit:
            return ""
        return (
            f"the kernel ended it because this host ran out of memory: {free >> 10} MiB are free, and it may use "
            f"{self._limit >> 20} MiB"
        )

    def _read(self, file: str, name: str) -> int | None:
        """Return the number next to `name`; None on a system without it."""
        try:
            lines = (self._proc / file).read_text(encoding="ascii").splitlines()
        except OSError:
            return None
        return next((int(fields[1]) for line in lines if (fields := line.split())[:1] == [name]), None)
