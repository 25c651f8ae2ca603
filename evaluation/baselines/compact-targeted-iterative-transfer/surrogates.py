"""Surrogates, and the radii of the L2 balls in which each is attacked, for Tiny ImageNet: one direction each."""

from __future__ import annotations

RADII = {
    "surrogate-robust.safetensors": (1, 2, 4, 8),
    "surrogate-plain.safetensors": (0.5, 1, 2, 4, 8),
}
