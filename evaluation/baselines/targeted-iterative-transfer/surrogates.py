"""Surrogates, and the radii of the L2 balls in which each is attacked, for the digits: one direction each."""

from __future__ import annotations

RADII = {
    "surrogate-robust.safetensors": (4, 7, 11, 15, 20),
    "surrogate-plain.safetensors": (2.5, 4, 6, 10),
}
