"""Contrast of two colours, as WCAG 2.2 defines it."""

from __future__ import annotations

LEAST = 4.5
"""Least contrast of text (success criterion 1.4.3)."""


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours written as #rrggbb: 1 for equal ones, 21 for black and white."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[start : start + 2], 16) / 255) for start in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
