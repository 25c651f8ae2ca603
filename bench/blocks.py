"""The interface of measured programs: they read lines "IMAGES SECONDS" and answer each with one line of figures.

So each program, in any language, is started once and measures in its turns. Only the standard library is imported,
because programs in other environments use this file too.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

LEAST_REQUESTS = 5
"""Least number of requests in a block, so that its median is meaningful."""


def serve_blocks(prepare: Callable[[int], Callable[[], None]]) -> None:
    """Answer blocks until stdin ends. `prepare(images)` returns a function that sends a request of that many images."""
    for line in sys.stdin:
        count, seconds = line.split()
        ask = prepare(int(count))
        taken: list[float] = []
        end = time.perf_counter() + float(seconds)
        while len(taken) < LEAST_REQUESTS or time.perf_counter() < end:
            start = time.perf_counter()
            ask()
            taken.append(time.perf_counter() - start)
        answer(taken)


def answer(taken: list[float]) -> None:
    """Print one block's line: median microseconds of a request, number of requests, microseconds of all of them."""
    print(f"{statistics.median(taken) * 1e6:.3f} {len(taken)} {sum(taken) * 1e6:.0f}", flush=True)
