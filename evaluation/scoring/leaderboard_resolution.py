"""The resolution of a leaderboard: how far apart two scores are at least that its samples separate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Resolution:
    """`closest` is the smallest difference of a separated pair of scores, None if no pair is separated."""

    closest: float | None


FEW_SAMPLES = 20
"""Below it the bootstrap of a median is rough (docs/statistics.md, Limits)."""


def few_samples(samples: int) -> str:
    """Return what intervals over `samples` samples are worth where these are few; "" otherwise."""
    if samples >= FEW_SAMPLES:
        return ""
    if samples == 1:
        return "One sample says nothing about others: do not read its intervals and rank intervals."
    return f"With only {samples} samples, intervals are too narrow and rank intervals claim too much."


def resolution(ranked: Sequence[tuple[float, int]]) -> Resolution | None:
    """Return the resolution of the compared rows of a leaderboard: score and best rank of the interval, best first.

    None with fewer than two rows, where there is nothing to compare. A best rank of n says that n - 1 rows are
    significantly better; they are taken to be the first ones.
    """
    if len(ranked) < 2:
        return None
    scores = [score for score, _ in ranked]
    found = [abs(score - scores[low - 2]) for score, low in ranked if low > 1]
    return Resolution(min(found, default=None))


def sentence(ranked: Sequence[tuple[float, int]], basis: str, digits: int) -> str:
    """Return which differences of the scores of `ranked` are significant, "" if there is nothing to compare.

    `basis` is what the scores were measured on, as "20 samples". For readers of terminals and reports.
    """
    found = resolution(ranked)
    if found is None:
        return ""
    if found.closest is None:
        return f"With {basis}, no two scores are separated."
    return f"With {basis}, scores closer than about {found.closest:.{digits}f} are not separated."
