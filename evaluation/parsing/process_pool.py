"""Processes that share work, and end with the process that started them."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def process_pool(processes: int, prepare: Callable[..., None] | None = None, *arguments: Any) -> ProcessPoolExecutor:
    """Return a pool of new interpreters, each of which first calls `prepare(*arguments)`.

    On Linux the kernel kills them when the calling thread has ended, however it ended: a command that is killed leaves
    nothing behind that computes on, and what they started ends with them.
    """
    spawn = multiprocessing.get_context("spawn")  # a fork would copy the threads' locks
    return ProcessPoolExecutor(processes, spawn, initializer=_begin, initargs=(os.getpid(), prepare, arguments))


def _begin(parent: int, prepare: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the call above
            os._exit(1)
    if prepare is not None:
        prepare(*arguments)
