"""Processor time of a thread and of the processes that it waits for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from evaluation.parsing.processor_time_meter import Meter, group_seconds, wait

BURN = "import time\nwhile time.process_time() < {seconds}: pass\n"


def burning(seconds: float) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", BURN.format(seconds=seconds)])


def burn(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_it_counts_the_thread_and_its_children() -> None:
    meter = Meter()
    with meter.running():
        burn(0.1)
        with meter.running():
            burn(0.1)
        assert wait(burning(0.2)) == 0
        assert meter.seconds >= 0.4
    counted = meter.seconds
    burn(0.1)
    assert wait(burning(0.1)) == 0
    assert meter.seconds == counted


def test_it_counts_what_a_killed_child_used() -> None:
    meter = Meter()
    process = subprocess.Popen(
        [sys.executable, "-c", f"{BURN.format(seconds=0.2)}print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with meter.running(), process.stdout:
        process.stdout.readline()
        process.kill()
        assert wait(process) == wait(process) == -9
    assert meter.seconds >= 0.2


def test_a_child_that_another_thread_waited_for_has_its_status() -> None:
    process = burning(0)
    pid = process.pid
    waiting = threading.Thread(target=os.waitpid, args=(pid, 0))
    waiting.start()
    waiting.join()
    assert wait(process) == 0


def test_a_meter_does_not_count_other_threads() -> None:
    meter, other = Meter(), Meter()

    def work() -> None:
        with other.running():
            burn(0.2)
            wait(burning(0.2))

    with meter.running():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert other.seconds >= 0.4
    assert meter.seconds < 0.2


@pytest.mark.parametrize("ended", [False, True])
def test_a_group_counts_its_processes_and_those_they_waited_for(ended: bool) -> None:
    inner = f"{[sys.executable, '-c', BURN.format(seconds=0.2)]!r}"
    work = f"subprocess.run({inner})" if ended else f"subprocess.Popen({inner}, stdout=1).wait()"
    process = subprocess.Popen(
        [sys.executable, "-c", f"import subprocess\n{work}\nprint(flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdout, process.stdin:
        process.stdout.readline()
        # each of two processes has two times, which the kernel rounds down to ticks
        assert group_seconds(process.pid) >= 0.2 - 4 / os.sysconf("SC_CLK_TCK")
        process.kill()
        wait(process)
    assert group_seconds(process.pid) == 0
