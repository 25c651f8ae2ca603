"""An attack written for one image and served by the SDK; every query is a new image.

A request of a block is one round of lock-step: an image of every sample of the piece.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from bench.blocks import LEAST_REQUESTS, answer
from gauntlet import serve_attack


class Stopwatch:
    """The timer of rounds; between two blocks it waits for the next line of stdin."""

    def __init__(self) -> None:
        self._held = False
        self._taken: list[float] = []
        self._last = 0.0
        self._end = 0.0

    def take(self) -> bool:
        """Return True for the first sample of a piece, which keeps the timer until it ends."""
        first, self._held = not self._held, True
        if not self._end:
            self._next_block()
        return first

    def put_down(self) -> None:
        """End the piece."""
        self._held = False

    def tick(self) -> None:
        """End a round."""
        now = time.perf_counter()
        self._taken.append(now - self._last)
        self._last = now
        if now > self._end and len(self._taken) >= LEAST_REQUESTS:
            answer(self._taken)
            self._taken = []
            self._next_block()

    def _next_block(self) -> None:
        line = sys.stdin.readline()
        if not line:
            raise SystemExit
        self._last = time.perf_counter()
        self._end = self._last + float(line.split()[1])


stopwatch = Stopwatch()
query = 0


def attack(model: Any, image: Any, label: int | None, *, target: int | None, rng: Any) -> None:
    """Query until the budget is exhausted."""
    global query
    holds = stopwatch.take()
    pixels = image.reshape(-1)
    try:
        while True:
            query += 1
            pixels[:8] = memoryview(query.to_bytes(8, "little"))  # an image that was not queried before
            model(image)
            if holds:
                stopwatch.tick()
    finally:
        if holds:
            stopwatch.put_down()


serve_attack(attack)
