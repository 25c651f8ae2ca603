"""What measured programs tell: they read lines "IMAGES SECONDS" and answer each with one line of figures.

So each of them, whatever it is written in, is started once and measures when it is its turn. Imports nothing but the
standard library, as programs of other environments use it too.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

LEAST_REQUESTS = 5
"""A block goes on until it has so many, so that its median stands for something."""


def serve_blocks(prepare: Callable[[int], Callable[[], None]]) -> None:
    """Answer blocks until stdin ends. `prepare(images)` gives what sends one request of so many images."""
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
    """One block's line: median microseconds of a request, requests, microseconds of all of them."""
    print(f"{statistics.median(taken) * 1e6:.3f} {len(taken)} {sum(taken) * 1e6:.0f}", flush=True)
