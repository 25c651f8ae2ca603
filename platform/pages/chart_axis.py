"""The axis that all interval bars of a table share: from 0 to a round number, with ticks at round numbers. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MOST_STEPS = 4


@dataclass(frozen=True)
class Tick:
    """A number on the axis: where it stands, in percent of its length, and as it is written."""

    at: float
    text: str


@dataclass(frozen=True)
class Axis:
    """From 0 to `end`; `ticks` are evenly spaced, from 0 to `end`."""

    end: float
    ticks: Sequence[Tick]

    @cached_property
    def path(self) -> str:
        """The ticks as a path across a bar of 100 by 10. Written once for all bars of a table."""
        return "".join(f"M{tick.at:.2f} 0V10" for tick in self.ticks)

    def at(self, value: float) -> float:
        """Where a value stands, in percent of the axis' length; its end where the value lies beyond."""
        return min(100.0, 100 * value / self.end)


def axis_to(largest: float) -> Axis:
    """The shortest axis of at most four equal steps of 1, 2, 2.5 or 5 times a power of ten that reaches `largest`."""
    if not largest > 0:
        largest = 1.0
    power = 10.0 ** math.floor(math.log10(largest / _MOST_STEPS))
    step = next(factor * power for factor in _STEPS if factor * power * _MOST_STEPS >= largest * (1 - 1e-9))
    count = max(1, math.ceil(largest / step * (1 - 1e-9)))
    return Axis(step * count, [Tick(100 * number / count, f"{step * number:.4g}") for number in range(count + 1)])
