"""Returns an image that it never queried: it is queried once, and charged."""

from __future__ import annotations

from gauntlet import serve_attack


def attack(model, image, label, *, target, rng):
    return image + (255.0 - 2.0 * image) * 0.46


serve_attack(attack)
