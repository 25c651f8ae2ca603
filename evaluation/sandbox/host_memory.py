"""Whether a player that was killed met its own limit of memory, or the end of the host's."""

from __future__ import annotations

from pathlib import Path

_PROC = Path("/proc")


class HostMemory:
    """What the kernel says of this host's memory from the start of a run to its end."""

    def __init__(self, limit: int, proc: Path = _PROC) -> None:
        """`limit`: the bytes that the player may use; `proc`: where the kernel shows its counters (proc(5))."""
        self._limit = limit
        self._proc = proc
        self._kills = self._read("vmstat", "oom_kill")

    def trouble(self) -> str:
        """What was wrong with the host's memory where a player was killed just now; empty where nothing was.

        The kernel killed somebody for memory since the start, and not even with what the player left behind could
        another one have all that it may use: so the host ran out before the player met its limit. A player that
        met its limit left that much behind.
        """
        kills, free = self._read("vmstat", "oom_kill"), self._read("meminfo", "MemAvailable:")
        if kills is None or free is None or kills == self._kills or free * 1024 >= self._limit:
            return ""
        return (
            f"the kernel ended it for want of memory on this host: {free >> 10} MiB are left, and a player may use "
            f"{self._limit >> 20} MiB"
        )

    def _read(self, file: str, name: str) -> int | None:
        """The number beside `name`; None on a system that does not tell it."""
        try:
            lines = (self._proc / file).read_text(encoding="ascii").splitlines()
        except OSError:
            return None
        return next((int(fields[1]) for line in lines if (fields := line.split())[:1] == [name]), None)
