"""Rank intervals in words."""

from __future__ import annotations

from django.utils.translation import gettext


def rank_range(low: int | None, high: int | None) -> str:
    """Return a rank interval as "2 to 8", or "from 90" without an end; "" if there is none."""
    if low is None:
        return ""
    if high is None:
        return gettext("from %(rank)s") % {"rank": low}
    if low == high:
        return str(low)
    return gettext("%(low)s to %(high)s") % {"low": low, "high": high}
