"""Adapter: what the samples of a leaderboard separate, in words."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext

from core.number_format import local
from evaluation.domain.score_decimals import decimals
from evaluation.scoring.leaderboard_resolution import resolution


def distances_separated(ranked: Sequence[tuple[float, int]], samples: int) -> str:
    """Return which differences of distances are significant, "" with fewer than two rows.

    `ranked` are score and best rank of the interval of the compared rows, best first.
    """
    found = resolution(ranked)
    if found is None:
        return ""
    if found.closest is None:
        return gettext("With %(number)s samples, no two scores are separated.") % {"number": local(f"{samples:,}")}
    return gettext("With %(number)s samples, scores closer than about %(difference)s are not separated.") % {
        "number": local(f"{samples:,}"),
        "difference": local(f"{found.closest:.{decimals(0, 2 * found.closest)}f}"),
    }


def shares_separated(ranked: Sequence[tuple[float, int]], images: int) -> str:
    """Return which differences of shares are significant, "" with fewer than two rows; as `distances_separated`."""
    found = resolution(ranked)
    if found is None:
        return ""
    if found.closest is None:
        return gettext("With %(number)s images, no two scores are separated.") % {"number": local(f"{images:,}")}
    return gettext(
        "With %(number)s images, scores closer than about %(difference)s percentage points are not separated."
    ) % {"number": local(f"{images:,}"), "difference": local(f"{100 * found.closest:.1f}")}
