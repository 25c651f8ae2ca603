"""The resolution of a leaderboard: how far apart two scores are at least that its samples separate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

FEW_SAMPLES = 20
"""Below it the bootstrap of a median is rough (docs/statistics.md, Limits)."""


def few_samples(samples: int) -> str:
    """Return what intervals over `samples` samples are worth where these are few; "" otherwise."""
    if samples >= FEW_SAMPLES:
        return ""
    if samples == 1:
        return "One sample says nothing about others: do not read its intervals and rank intervals."
    return f"With only {samples} samples, intervals are too narrow and rank intervals claim too much."


def sentence(ranked: Sequence[tuple[float, int]], basis: str, shown: Callable[[float], str]) -> str:
    """Return which differences of scores are significant; "" with fewer than two rows, which compare nothing.

    `ranked` are score and best rank of the interval of the compared rows, best first. A best rank of n says that n - 1
    rows are significantly better; they are taken to be the first ones. `basis` is what the scores were measured on, as
    "20 samples", and `shown` writes a difference.
    """
    if len(ranked) < 2:
        return ""
    scores = [score for score, _ in ranked]
    closest = min((abs(score - scores[low - 2]) for score, low in ranked if low > 1), default=None)
    if closest is None:
        return f"With {basis}, no two scores are separated."
    return f"With {basis}, scores closer than about {shown(closest)} are not separated."
