"""HopSkipJump (Chen, Jordan and Wainwright 2020), algorithm 2 for L2."""

from __future__ import annotations

import numpy as np
from label_steps import bisect, is_adversarial, length, walking

from gauntlet import serve_attack

FIRST_PROBES = 50
PROBE = 0.2
KEPT = None  # all frequencies
HALVINGS = 15


def step(model, image, point, normal, iteration):
    """Go along the normal, half as far until that is adversarial (equation 11), then back to the boundary."""
    size = length(point - image) / np.sqrt(iteration)
    for _ in range(HALVINGS):
        if is_adversarial(model, point + size * normal):
            return bisect(model, image, point + size * normal)
        size /= 2
    return point


attack = walking(step, first_probes=FIRST_PROBES, probe=PROBE, kept=KEPT)

if __name__ == "__main__":
    serve_attack(attack)
