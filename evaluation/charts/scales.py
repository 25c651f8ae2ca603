"""Scales of charts: from a value to its share of an axis, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from evaluation.charts.interval_bar_axis import Axis, axis_of_shares, axis_to

_LOG_TICKS = (1, 2, 5)
_MAX_TICKS = 8


class Scale(Protocol):
    """One axis of a chart."""

    @property
    def ticks(self) -> Sequence[tuple[float, str]]:
        """Values with their labels."""

    def at(self, value: float) -> float:
        """Return the position of a value, from 0 to 1."""


@dataclass(frozen=True)
class LinearScale:
    """A linear axis from `start` to `end`. `unit` follows every label; `factor` converts values to labels."""

    start: float
    end: float
    ticks: Sequence[tuple[float, str]]

    def at(self, value: float) -> float:
        """Return the position of a value, from 0 to 1."""
        return min(1.0, max(0.0, (value - self.start) / (self.end - self.start)))


def linear_to(largest: float) -> LinearScale:
    """Return an axis from 0 to a round number that is not below `largest`."""
    return _from(axis_to(largest))


def linear_over(smallest: float, largest: float) -> LinearScale:
    """Return an axis over 0 and these values, in the steps of the longer side; `linear_to` where none is negative."""
    if smallest >= 0:
        return linear_to(largest)
    step = linear_to(max(-smallest, largest)).ticks[1][0]
    low, high = (math.ceil(round(value / step, 9)) for value in (-smallest, max(0.0, largest)))
    return LinearScale(
        -step * low, step * high, [(step * number, f"{step * number:.4g}") for number in range(-low, high + 1)]
    )


def shares() -> LinearScale:
    """Return the axis of shares from 0 to 1, labelled in per cent."""
    return _from(axis_of_shares())


def shares_over(smallest: float, largest: float) -> LinearScale:
    """Return `linear_over` of shares, labelled in per cent."""
    scale = linear_over(smallest, largest)
    return replace(scale, ticks=[(value, f"{100 * value:.4g}\u00a0%") for value, _ in scale.ticks])


def _from(axis: Axis) -> LinearScale:
    return LinearScale(0.0, axis.end, [(axis.end * tick.at / 100, tick.text) for tick in axis.ticks])


@dataclass(frozen=True)
class LogScale:
    """A logarithmic axis from `start` to `end`, both above 0; values below `start` are at 0."""

    start: float
    end: float

    @property
    def ticks(self) -> Sequence[tuple[float, str]]:
        """Powers of 10, and 2 and 5 times these where there is room."""
        powers = range(math.floor(math.log10(self.start)), math.ceil(math.log10(self.end)) + 1)
        for steps in (_LOG_TICKS, (1, 3), (1,)):
            values = [float(f"{step}e{power}") for power in powers for step in steps]
            inside = [value for value in values if self.start <= value <= self.end]
            if len(inside) <= _MAX_TICKS:
                break
        return [(value, f"{value:,g}") for value in inside]

    def at(self, value: float) -> float:
        """Return the position of a value, from 0 to 1."""
        if value <= self.start:
            return 0.0
        return min(1.0, math.log(value / self.start) / math.log(self.end / self.start))


_TIME_STEPS = [
    timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15), timedelta(hours=1), timedelta(hours=3),
    timedelta(hours=6), timedelta(days=1), timedelta(days=2), timedelta(weeks=1), timedelta(weeks=2),
    timedelta(weeks=4), timedelta(weeks=13), timedelta(weeks=26), timedelta(weeks=52), timedelta(weeks=260),
]  # fmt: skip
_MAX_TIME_TICKS = 5
_MONDAY = datetime(2024, 1, 1, tzinfo=UTC)


def label(at: datetime, step: timedelta) -> str:
    """Return the label of a time on an axis with a tick each `step`, in English."""
    if step < timedelta(days=1):
        return f"{at:%H:%M}"
    return f"{at.day} {at:%b}" if step < timedelta(weeks=26) else f"{at:%b %Y}"


@dataclass(frozen=True)
class TimeScale:
    """An axis of time; values are seconds since 1970. `label` writes a time for ticks at each step."""

    start: datetime
    end: datetime
    label: Callable[[datetime, timedelta], str] = label

    @property
    def ticks(self) -> Sequence[tuple[float, str]]:
        """Round times in UTC."""
        step = next((each for each in _TIME_STEPS if self.end - self.start <= _MAX_TIME_TICKS * each), _TIME_STEPS[-1])
        first = -((_MONDAY - self.start) // step)
        found = []
        while (at := _MONDAY + first * step) <= self.end:
            if at >= self.start:
                found.append((at.timestamp(), self.label(at, step)))
            first += 1
        return found

    def at(self, value: float) -> float:
        """Return the position of a value, from 0 to 1."""
        start, end = self.start.timestamp(), self.end.timestamp()
        return min(1.0, max(0.0, (value - start) / ((end - start) or 1.0)))


@dataclass(frozen=True)
class RankScale:
    """An axis of ranks with the first on top."""

    last: int

    @property
    def ticks(self) -> Sequence[tuple[float, str]]:
        """The first, the last, and round ranks between them."""
        step = next((each for each in (1, 2, 5, 10, 20, 50, 100, 200, 500) if self.last <= 10 * each), 1000)
        between = range(step, self.last, step) if step > 1 else range(2, self.last)
        inside = [rank for rank in between if self.last - rank > step / 2 or step == 1]
        return [(rank, str(rank)) for rank in dict.fromkeys((1, *inside, self.last))]

    def at(self, value: float) -> float:
        """Return the position of a value, from 0 to 1."""
        return 1.0 if self.last <= 1 else min(1.0, max(0.0, (self.last - value) / (self.last - 1)))


@dataclass(frozen=True)
class PlaceScale(RankScale):
    """An axis of places or of rounds with the first on the left; a single one is in the middle."""

    def at(self, value: float) -> float:
        """Return the position of a value, from 0 to 1."""
        return 0.5 if self.last <= 1 else 1.0 - super().at(value)


_LINEAR_RATIO = 20
"""Ratio of the largest distance to the smallest one up to which an axis of distances begins at 0."""


def distances_over(values: Collection[float]) -> Scale:
    """Return an axis of distances: from 0, or logarithmic where the smaller ones would lie on its zero.

    Attacks with a target need a hundred times the distance of others. The logarithmic axis has three decades at most.
    """
    above = [value for value in values if value > 0]
    largest = max(above, default=1.0)
    smallest = max(min(above, default=1.0), largest / 1000)
    if largest <= _LINEAR_RATIO * smallest:
        return linear_to(largest)
    return LogScale(10.0 ** math.floor(math.log10(smallest)), largest)
