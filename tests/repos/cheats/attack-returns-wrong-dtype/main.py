"""Returns complex numbers."""

from __future__ import annotations

from gauntlet import serve_attack


def attack(model, image, label, *, target, rng):
    return image.astype(complex)


serve_attack(attack)
