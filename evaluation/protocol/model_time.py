"""The time limit of a model: by the clock, without what a busy host took."""

from __future__ import annotations

import time
from collections.abc import Callable

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.processor_use import ProcessorUse
from evaluation.protocol.channel import ChannelError
from evaluation.protocol.time_bank import TimeBank
from evaluation.protocol.time_taken_by_host import TimeTakenByHost

MODEL_GRACE_SECONDS = 10.0
"""Seconds of the reference machine that a model may overdraw: short delays of a busy host are covered, an endless loop
ends within it.

It is used up by frames that take longer than their images allow, and restored by frames that take less.
"""

CLOCK_FACTOR = 10.0
"""How many times the model's limit its answers may take by the clock, however busy the host is.

A host with a dozen other busy processes on two cores slows a player down seven times.
"""

CLOCK_GRACE_FACTOR = 3.0
"""How many times the grace of a model its answers may take by the clock: an endless loop on a busy host ends there."""


class ModelTime:
    """The time that a model takes to answer.

    Each instance has one reserve. The clock is stopped while no answer is awaited: the model does not pay for the
    attack, nor for what the attack computes in this process.
    """

    def __init__(self, seconds_per_image: float, calibration: float, read: Callable[[], ProcessorUse | None]) -> None:
        """Begin with an instance. `seconds_per_image` are of the reference machine; `read` as in `TimeTakenByHost`."""
        self._seconds_per_image, self._calibration, self._read = seconds_per_image, calibration, read
        self.seconds = 0.0
        """The seconds of all answers, without those that a busy host took as far as they are known yet."""
        self.images = 0
        """The number of images that it was asked about."""
        self._asked_at = self._counted_until = self._most = 0.0
        self._count = 0
        self.begin()

    def begin(self) -> None:
        """Give a fresh instance the whole reserve."""
        self._bank = TimeBank(self._grace)
        self._clock = TimeBank(CLOCK_GRACE_FACTOR * self._grace)
        self._taken = TimeTakenByHost(self._read)

    @property
    def _grace(self) -> float:
        return MODEL_GRACE_SECONDS * self._calibration

    def ask(self, count: int, *, factor: float = 1.0) -> None:
        """Begin a question about `count` images, each of which may take `factor` times the limit."""
        # unused time is not saved up: a fast model that hangs must not hold a worker for hours
        granted = count * self._seconds_per_image * self._calibration * factor
        self._bank = TimeBank(min(self._bank.left, self._grace) + granted)
        self._clock = TimeBank(min(self._clock.left, CLOCK_GRACE_FACTOR * self._grace) + CLOCK_FACTOR * granted)
        self._most = self._grace + granted
        self._count = count
        self._asked_at = self._counted_until = time.monotonic()

    @property
    def deadline(self) -> float:
        """The time (`time.monotonic()`) until which the question must be answered."""
        return self._asked_at + min(self._bank.left, self._clock.left)

    def extend(self) -> float:
        """Return the deadline of the current question without the time that the host took."""
        self._return_taken_time(self._counted_until)
        self._counted_until = now = time.monotonic()
        return min(self.deadline, now + self._most)

    def answered(self) -> None:
        """End the question: it was answered, or the model failed."""
        now = time.monotonic()
        spent = now - self._asked_at
        self._bank.used += spent
        self._clock.used += spent
        self._taken.add(now - self._counted_until)
        self.seconds += spent
        self.images += self._count

    def seconds_per_image(self, *, running: bool = True) -> float:
        """Return the mean seconds of an image, without those that a busy host took. 0 if it was never asked.

        `running`: the last instance still runs, and the host is asked once more.
        """
        if running:
            self._return_taken_time()
        return self.seconds / self.images if self.images else 0.0

    def with_cause(self, error: ChannelError) -> ChannelError:
        """Return `error`; where the model was slow without computing, its text says so."""
        if error.reason is Reason.TOO_SLOW and self._taken.mostly_idle:
            return ChannelError(error.reason, f"{error.detail}; it was idle for most of the time")
        return error

    def _return_taken_time(self, asked_since: float | None = None) -> None:
        taken = self._taken.take(asked_since)
        self._bank.allowed += taken
        self.seconds -= taken
