"""Adapter: what the samples of a leaderboard separate, in words."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.domain.score_decimals import decimals
from evaluation.scoring.leaderboard_resolution import few_samples, resolution

__all__ = ["distances_separated", "few_samples", "shares_separated"]


def distances_separated(ranked: Sequence[tuple[float, int]], samples: int) -> str:
    """Return which differences of distances are significant, "" with fewer than two rows.

    `ranked` are score and best rank of the interval of the compared rows, best first.
    """
    found = resolution(ranked)
    if found is None:
        return ""
    if found.closest is None:
        return f"With {samples:,} samples, no two scores are separated."
    return (
        f"With {samples:,} samples, scores closer than about "
        f"{found.closest:.{decimals(0, 2 * found.closest)}f} are not separated."
    )


def shares_separated(ranked: Sequence[tuple[float, int]], images: int) -> str:
    """Return which differences of shares are significant, "" with fewer than two rows; as `distances_separated`."""
    found = resolution(ranked)
    if found is None:
        return ""
    if found.closest is None:
        return f"With {images:,} images, no two scores are separated."
    return (
        f"With {images:,} images, scores closer than about {100 * found.closest:.1f} percentage "
        "points are not separated."
    )
