"""Processor time of a piece of work: that of its thread, and of the child processes that it waits for."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any


class Meter:
    """Sum of the processor seconds of one piece of work, which may have pauses and change its thread in them."""

    def __init__(self) -> None:
        self._counted = 0.0
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        """The seconds until now. Inside of `running`, only its own thread may ask."""
        return self._counted + (0.0 if self._since is None else time.thread_time() - self._since)

    def add(self, seconds: float) -> None:
        """Count `seconds` that were used elsewhere."""
        self._counted += seconds

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the block's own processor time, and that of the child processes that it passes to `wait`."""
        if self._since is not None:  # inside of another block of this work
            yield
            return
        self._since = time.thread_time()
        token = _METER.set(self)
        try:
            yield
        finally:
            _METER.reset(token)
            self._counted, self._since = self.seconds, None


_METER: ContextVar[Meter | None] = ContextVar("processor time", default=None)


def wait(process: subprocess.Popen[Any]) -> int:
    """Wait for `process` and return its status; count its processor time, with that of the children it waited for."""
    if process.returncode is not None:
        return process.returncode
    try:
        _, status, used = os.wait4(process.pid, 0)
    except ChildProcessError:  # another thread has waited for it
        return process.wait()
    process.returncode = os.waitstatus_to_exitcode(status)
    if (meter := _METER.get()) is not None:
        meter.add(used.ru_utime + used.ru_stime)
    return process.returncode


def group_seconds(group: int) -> float:
    """Return the processor time of all processes of the process group `group`, and of the children they waited for."""
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # after the name, which may hold anything: state, parent, group, ..., and four times from the 12th on
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[2]) == group:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
