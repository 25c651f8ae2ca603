"""A player's use of the processors of a host, from Linux's /proc: what it computed, and how long it had to wait."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from evaluation.domain.processor_use import HostLoad, ProcessorUse, ThreadUse

_PROC = Path("/proc")
_BUSY = (0, 1, 2, 5, 6)
_STOLEN = 7


def processor_use(computed: float, pids: Iterable[int]) -> ProcessorUse:
    """Return the use of a player that computed `computed` seconds, with the threads of its running processes `pids`.

    The thread that calls is the one that awaits its answers. Threads are missing where this kernel does not count how
    long they wait for a processor, and where the processes are not in sight.
    """
    threads = {number: use for pid in pids for number, use in _threads(_PROC / str(pid) / "task")}
    own = _thread(_PROC / "thread-self")
    asking = {} if own is None else {threading.get_native_id(): own}
    return ProcessorUse(computed, threads, asking, host_load())


def host_load() -> HostLoad:
    """Return how busy this host is; the default where it does not say so."""
    processors = os.cpu_count() or 1
    try:
        recent, _, _, running, _ = (_PROC / "loadavg").read_text().split()
        ticks = list(map(int, (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:]))
        wanting = max(float(recent), int(running.partition("/")[0]))
        per_second = os.sysconf("SC_CLK_TCK")
        busy, stolen = sum(ticks[index] for index in _BUSY) / per_second, ticks[_STOLEN] / per_second
    except (OSError, ValueError, IndexError):
        return HostLoad()
    return HostLoad(max(1.0, wanting / processors), busy, stolen)


def _threads(folder: Path) -> Iterable[tuple[int, ThreadUse]]:
    try:
        threads = list(folder.iterdir())
    except OSError:  # the process has just ended
        return
    for thread in threads:
        use = _thread(thread)
        if use is not None:
            number = int(thread.name)
            yield number, replace(use, waited=0.0) if _gives_way(number) else use


def _gives_way(thread: int) -> bool:
    """Return True if a thread has a lower priority than usual, and than this one; a player cannot raise it again.

    It waits as long as others compute, so that a player could sleep beside it.
    """
    try:
        lower = os.getpriority(os.PRIO_PROCESS, thread) > max(0, os.getpriority(os.PRIO_PROCESS, 0))
        return lower or os.sched_getscheduler(thread) == os.SCHED_IDLE
    except OSError:  # it has just ended
        return False


def _thread(folder: Path) -> ThreadUse | None:
    try:
        computed, waited, _ = (folder / "schedstat").read_text().split()
    except (OSError, ValueError):
        return None
    return ThreadUse(int(computed) / 1e9, int(waited) / 1e9)
