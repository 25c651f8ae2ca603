"""Adapter: what the samples of a leaderboard separate, in words."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.domain.score_decimals import decimals
from evaluation.scoring.leaderboard_resolution import few_samples, sentence

__all__ = ["distances_separated", "few_samples", "shares_separated"]


def distances_separated(ranked: Sequence[tuple[float, int]], samples: int) -> str:
    """Return which differences of distances are significant; see `sentence`."""
    return sentence(ranked, f"{samples:,} samples", lambda closest: f"{closest:.{decimals(0, 2 * closest)}f}")


def shares_separated(ranked: Sequence[tuple[float, int]], images: int) -> str:
    """Return which differences of shares are significant; see `sentence`."""
    return sentence(ranked, f"{images:,} images", lambda closest: f"{100 * closest:.1f} percentage points")
