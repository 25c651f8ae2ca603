"""Template filters for selection effects: what is better by luck alone."""

from __future__ import annotations

import math
from collections.abc import Mapping

from django import template

from core import rounding
from formats.query.leaderboards.selection_effect import SubmissionDifference

register = template.Library()


@register.filter
def of_team(measured: Mapping[str, int] | str, slug: str) -> int:
    """Return how many submissions of the team were measured, 0 if that is unknown."""
    return measured.get(slug, 0) if isinstance(measured, Mapping) else 0


@register.filter
def percent(share: float) -> str:
    """Format a share in whole per cent, for example "9 %"."""
    return f"{100 * share:.0f}\u00a0%"


@register.filter
def signed(compared: SubmissionDifference, column: str) -> str:
    """Format a number of the difference with its sign, to two digits of the half-width of its interval."""
    difference = compared.difference
    half = (difference.high - difference.low) / 2
    decimals = 1 - math.floor(math.log10(half)) if half > 0 else rounding.DECIMALS
    digits = max(0, min(rounding.DECIMALS, decimals))
    value = round(getattr(difference, column), digits) + 0.0  # no -0.0
    return f"{value:+.{digits}f}"
