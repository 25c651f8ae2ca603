"""Rounding of published numbers that depend on secret samples.

An attack influences its distances, times and queries, so every further digit could leak more about the secret samples.
Released bundles contain all digits.
"""

from __future__ import annotations

from datetime import datetime

DECIMALS = 3
"""Decimals of a published distance (L2 over pixels / 255)."""

SHARE_DECIMALS = 6
"""Decimals of a published share of images."""


def distance(value: float) -> float:
    """Return a distance as published."""
    return round(value, DECIMALS)


def share(value: float) -> float:
    """Return a share as published."""
    return round(value, SHARE_DECIMALS)


def seconds(value: float) -> float:
    """Return a duration as published: to the millisecond below 1 s, to 0.1 s below 10 s, else to the second."""
    if value < 1:
        return round(value, 3)
    return round(value, 1) if value < 10 else round(value)


def queries(value: float) -> int:
    """Return a mean number of queries as published."""
    return round(value)


def moment(at: datetime) -> datetime:
    """Return an end time as published: to the second."""
    return at.replace(microsecond=0)
