"""Surrogates, and the radii of the L2 balls in which each is attacked, for the digits: one direction each."""

from __future__ import annotations

RADII = {
    "surrogate-robust.safetensors": (2, 4, 6.5, 9, 13, 18),
    "surrogate-plain.safetensors": (1.5, 2.5, 4, 6),
}
