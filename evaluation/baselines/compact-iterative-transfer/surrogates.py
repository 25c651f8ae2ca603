"""Surrogates, and the radii of the L2 balls in which each is attacked, for Tiny ImageNet: one direction each."""

from __future__ import annotations

RADII = {
    "surrogate-robust.safetensors": (0.3, 0.6, 1.2, 2.5),
    "surrogate-plain.safetensors": (0.15, 0.3, 0.6, 1.2, 2.5),
}
