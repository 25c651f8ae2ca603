"""Scales of charts: from a value to its share of an axis, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from evaluation.charts.axis import axis_to

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
    axis = axis_to(largest)
    return LinearScale(0.0, axis.end, [(axis.end * tick.at / 100, tick.text) for tick in axis.ticks])


def shares() -> LinearScale:
    """Return the axis of shares from 0 to 1, labelled in per cent."""
    return LinearScale(0.0, 1.0, [(quarter / 4, f"{25 * quarter}\u00a0%") for quarter in range(5)])


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
