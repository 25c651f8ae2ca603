"""Filters for what pages say of luck."""

from __future__ import annotations

import math
from collections.abc import Mapping

from django import template

from core import rounding
from leaderboards.selection_effect import Compared

register = template.Library()


@register.filter
def of_team(measured: Mapping[str, int] | str, slug: str) -> int:
    """How many submissions of the team were measured; 0 where it is not known."""
    return measured.get(slug, 0) if isinstance(measured, Mapping) else 0


@register.filter
def percent(share: float) -> str:
    """A share in whole per cent, "9 %"."""
    return f"{100 * share:.0f}\u00a0%"


@register.filter
def told(compared: Compared, column: str) -> str:
    """A number of the difference with its sign, to two digits of the half-width of its interval."""
    difference = compared.difference
    half = (difference.high - difference.low) / 2
    wanted = 1 - math.floor(math.log10(half)) if half > 0 else rounding.DECIMALS
    digits = max(0, min(rounding.DECIMALS, wanted))
    value = round(getattr(difference, column), digits) + 0.0  # no -0.0
    return f"{value:+.{digits}f}"
