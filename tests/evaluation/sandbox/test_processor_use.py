"""What a host tells of a player's use of its processors, beyond the seconds that it computed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evaluation.domain.processor_use import HostLoad
from evaluation.sandbox import processor_use as module
from evaluation.sandbox.processor_use import host_load, processor_use

SPIN = "import os\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nwhile True: pass"
SLEEP = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\ntime.sleep(60)"
WAKE = "import time\nwhile True: time.sleep(0.001)"


@contextmanager
def running(program: str) -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def test_the_threads_of_two_processes_on_one_processor_compute_and_wait(
    wait_until: Callable[[Callable[[], bool]], None],
) -> None:
    """Two processes on one processor: each waits while the other computes."""

    def both_waited() -> bool:
        threads = processor_use(0.0, (first, second)).threads
        return len(threads) == 2 and all(min(use.waited, use.computed) > 0.1 for use in threads.values())

    with running(SPIN) as first, running(SPIN) as second:
        wait_until(both_waited)


@pytest.mark.parametrize(
    "lower",
    [
        lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19),
        lambda pid: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
    ],
    ids=["nice", "idle"],
)
def test_a_process_that_gives_way_does_not_wait(
    lower: Callable[[int], None], wait_until: Callable[[Callable[[], bool]], None]
) -> None:
    """A model could sleep beside it, as long as others keep the host busy."""
    with running(WAKE) as pid:
        wait_until(lambda: pid in (threads := processor_use(0.0, (pid,)).threads) and threads[pid].waited > 0.0)
        lower(pid)
        use = processor_use(0.0, (pid,)).threads[pid]
        assert use.computed > 0.0
        assert use.waited == 0.0


def test_every_thread_of_every_process_is_read(wait_until: Callable[[Callable[[], bool]], None]) -> None:
    with running(SLEEP) as first, running(SLEEP) as second:
        wait_until(lambda: len(processor_use(0.0, (first, second)).threads) == 4)
        assert {first, second} <= processor_use(0.0, (first, second)).threads.keys()
    assert processor_use(1.5, (first,)).threads == {}
    assert processor_use(1.5, ()).computed == 1.5


def test_the_thread_that_reads_is_the_one_that_asks() -> None:
    (number,) = processor_use(0.0, ()).asking
    assert number == threading.get_native_id()


def test_the_load_of_the_host_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PROC", tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    second = os.sysconf("SC_CLK_TCK")
    ticks = " ".join(str(number * second) for number in (1, 2, 3, 100, 50, 4, 5, 6, 0, 0))
    (tmp_path / "stat").write_text(f"cpu  {ticks}\ncpu0 {ticks}\n")
    for average, wanting, slowdown in (("0.50", 14, 7.0), ("9.00", 1, 4.5), ("0.10", 1, 1.0)):
        (tmp_path / "loadavg").write_text(f"{average} 0.81 2.92 {wanting}/116 31307\n")
        assert host_load() == HostLoad(slowdown, busy=15.0, stolen=6.0)


def test_a_kernel_that_does_not_count_waiting_tells_no_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "7" / "task" / "7").mkdir(parents=True)
    monkeypatch.setattr(module, "_PROC", tmp_path)
    use = processor_use(1.5, (7,))
    assert (use.computed, use.threads, use.asking, use.host) == (1.5, {}, {}, HostLoad())
