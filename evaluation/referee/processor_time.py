"""Processor time of a player: what it computed of the time in which an answer was awaited."""

from __future__ import annotations

import time
from collections.abc import Callable

WALL_FACTOR = 10.0
"""How many times the model's processor time its answers may take by the clock.

A host with a dozen other busy processes on two cores slows a player down seven times. Beyond the factor, a model waits
without computing, and would hold a worker.
"""

WALL_GRACE_FACTOR = 3.0
"""The same for the grace of a model: one that hangs is stopped after three times as long."""


class WaitingTime:
    """The time in which one running player was asked and did not compute, because the host was busy or it slept."""

    def __init__(self, read: Callable[[], float | None]) -> None:
        """Begin now. `read` returns the processor seconds of the player so far, None where the host cannot tell."""
        self._read = read
        self._asked = 0.0
        self._before = read()

    def add(self, seconds: float) -> None:
        """Count `seconds` in which an answer was awaited."""
        self._asked += seconds

    def take(self, asked_since: float | None = None) -> float:
        """Return the seconds of waiting since the last call. What the player computes between questions is not waiting.

        `asked_since` is the time (`time.monotonic()`) of a question that is open, as far as it was not added before.
        The result is 0 where the host cannot tell: then the time by the clock counts.
        """
        now = self._read()
        if asked_since is not None:  # after the reading, which takes long where an engine is asked for it
            self._asked += time.monotonic() - asked_since
        if now is None:
            return 0.0
        if self._before is None:  # the host could not tell so far, because an engine did not answer: begin here
            self._asked, self._before = 0.0, now
            return 0.0
        # processor time is never given back: the figure shrinks where processes end that nobody waited for
        waited = max(0.0, self._asked - max(0.0, now - self._before))
        self._asked, self._before = 0.0, now
        return waited
