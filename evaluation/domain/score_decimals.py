"""Number of decimals with which a score is written."""

from __future__ import annotations

MOST_DECIMALS = 3
"""The most decimals of a distance in texts for people."""


def decimals(low: float, high: float) -> int:
    """Return the decimals of a score and its interval: two significant digits of the interval's half-width.

    At most `MOST_DECIMALS`, which is also the result for an interval without width.
    """
    half = (high - low) / 2
    if half <= 0:
        return MOST_DECIMALS
    exponent = int(f"{half:.1e}".partition("e")[2])
    return min(MOST_DECIMALS, max(0, 1 - exponent))
