"""Rank intervals in words."""

from __future__ import annotations


def rank_range(low: int | None, high: int | None) -> str:
    """Return a rank interval as "2 to 8", or "from 90" without an end; "" if there is none."""
    if low is None:
        return ""
    if high is None:
        return f"from {low}"
    if low == high:
        return str(low)
    return f"{low} to {high}"
