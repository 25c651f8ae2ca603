"""Colours of a heat map: ten steps of the median distance, or of a share, and one for cells without such a value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

STEPS = 10
"""Number of colours."""

DECIMALS = 3
"""Decimals of the distance that chooses a colour."""

_HELD = "hx"
_ROUND = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)


@dataclass(slots=True)  # not frozen, which makes 10,000 of them four times as slow
class Pair:
    """A model against an attack: the median distance, and on how many of the samples the model held."""

    median: float
    held: int
    samples: int

    @property
    def not_broken(self) -> bool:
        """Whether the median is one of the worst cases, which says little."""
        return 2 * self.held > self.samples


@dataclass(frozen=True)
class HeatColours:
    """The colours up to a largest distance, as classes of the style sheet."""

    end: float

    @property
    def legend(self) -> Sequence[tuple[str, str]]:
        """Each colour with the distances from which on it stands for."""
        return [(f"h{step}", f"{self.end * step / STEPS:.4g}") for step in range(STEPS)]

    def of(self, pair: Pair) -> str:
        """Return the colour of a pair."""
        if pair.not_broken:
            return _HELD
        return f"h{min(STEPS - 1, int(STEPS * round(pair.median, DECIMALS) / self.end))}"


def colours_for(pairs: Iterable[Pair]) -> HeatColours:
    """Return the colours for these pairs: ten round steps. Pairs that are not broken have no colour."""
    largest = max((pair.median for pair in pairs if not pair.not_broken), default=0.0) or 1.0
    power = 10.0 ** math.floor(math.log10(largest / STEPS))
    return HeatColours(STEPS * next(step * power for step in _ROUND if step * power * STEPS > largest))


def share_colour(share: float | None) -> str:
    """Return the colour of a share from 0 to 1, in ten steps; None has that of no value."""
    return _HELD if share is None else f"h{min(STEPS - 1, int(STEPS * share))}"


def share_legend() -> Sequence[tuple[str, str]]:
    """Return each colour with the shares from which on it stands for."""
    return [(f"h{step}", f"{100 * step // STEPS}\u00a0%") for step in range(STEPS)]
