"""How many digits of a score mean something."""

from __future__ import annotations

MOST_DECIMALS = 3
"""Of a distance, wherever people read it."""


def decimals(low: float, high: float) -> int:
    """The decimals of a score and its interval: those of two significant digits of the interval's half-width.

    At most `MOST_DECIMALS`, which is also the answer where the interval has no width.
    """
    half = (high - low) / 2
    if half <= 0:
        return MOST_DECIMALS
    exponent = int(f"{half:.1e}".partition("e")[2])
    return min(MOST_DECIMALS, max(0, 1 - exponent))
