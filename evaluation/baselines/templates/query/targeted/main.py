"""Targeted attack: gradient steps towards the target class on your own network, then queries along that direction.

Where the other model differs much from yours, this finds nothing. Strong targeted attacks start from an image of the
target class instead: `gauntlet new targeted DIR --starts DATASET` copies one with such images.
"""

from __future__ import annotations

import numpy as np
from gradient_steps import loss_gradient
from line_search import search_line

from gauntlet import serve_attack

STEPS = 20
STEP = 127.5  # levels, L2


def attack(model, image, label, *, target, rng):
    """Attack one image, uint8 (64, 64, 3). Only queried images count, so nothing is returned."""
    clean = image.astype(np.float64)
    moved = clean
    for _ in range(STEPS):
        gradient = loss_gradient(moved[np.newaxis], [target])[0]
        moved = np.clip(moved - STEP * gradient / max(float(np.linalg.norm(gradient)), 1e-12), 0, 255)
    search_line(model, clean, moved - clean)


if __name__ == "__main__":
    serve_attack(attack)
