"""Shared axis of the interval bars of a table: from 0 to a round number, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MAX_STEPS = 4


@dataclass(frozen=True)
class Tick:
    """A tick of the axis: its position in percent of the length, and its label."""

    at: float
    text: str


@dataclass(frozen=True)
class Axis:
    """An axis from 0 to `end` with evenly spaced `ticks`."""

    end: float
    ticks: Sequence[Tick]

    @cached_property
    def path(self) -> str:
        """The ticks as an SVG path across a bar of 100 x 10, computed once for all bars of a table."""
        return "".join(f"M{tick.at:.2f} 0V10" for tick in self.ticks)

    def at(self, value: float) -> float:
        """Return the position of a value in percent of the length, at most 100."""
        return min(100.0, 100 * value / self.end)


def axis_to(largest: float) -> Axis:
    """Return the shortest axis to `largest` with at most four steps of 1, 2, 2.5 or 5 times a power of 10."""
    if not largest > 0:
        largest = 1.0
    power = 10.0 ** math.floor(math.log10(largest / _MAX_STEPS))
    step = next(factor * power for factor in _STEPS if factor * power * _MAX_STEPS >= largest * (1 - 1e-9))
    count = max(1, math.ceil(largest / step * (1 - 1e-9)))
    return Axis(step * count, [Tick(100 * number / count, f"{step * number:.4g}") for number in range(count + 1)])


def axis_of_shares() -> Axis:
    """Return the axis of shares from 0 to 1, labelled in per cent."""
    return Axis(1.0, [Tick(25.0 * quarter, f"{25 * quarter}\u00a0%") for quarter in range(5)])
