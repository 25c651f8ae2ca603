"""How precisely pages and API tell the numbers that come out of secret samples.

An attack has a hand in its distances, times and queries: each further digit would let it carry more of the secret
samples out. Released bundles have every digit.
"""

from __future__ import annotations

from datetime import datetime

DECIMALS = 3
"""Of a distance (L2 over pixels / 255)."""


def distance(value: float) -> float:
    """A distance, as it is told."""
    return round(value, DECIMALS)


def seconds(value: float) -> float:
    """A length of time, as it is told: to the millisecond below 1 s, to a tenth below 10 s, else to the second."""
    if value < 1:
        return round(value, 3)
    return round(value, 1) if value < 10 else round(value)


def queries(value: float) -> int:
    """A mean number of queries, as it is told."""
    return round(value)


def moment(at: datetime) -> datetime:
    """When something ended, as it is told: to the second."""
    return at.replace(microsecond=0)
