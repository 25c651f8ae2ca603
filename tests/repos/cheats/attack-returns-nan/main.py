"""Returns NaN."""

from __future__ import annotations

import numpy as np

from gauntlet import serve_attack


def attack(model, image, label, *, target, rng):
    return np.full(image.shape, np.nan)


serve_attack(attack)
