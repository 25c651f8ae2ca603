"""Untargeted attack: gradient steps on your own network choose a direction, and queries find the boundary along it."""

from __future__ import annotations

import numpy as np
from gradient_steps import loss_gradient
from line_search import search_line

from gauntlet import serve_attack

STEPS = 10
STEP = 127.5  # levels, L2


def attack(model, image, label, *, target, rng):
    """Attack one image, uint8 (64, 64, 3). Only queried images count, so nothing is returned."""
    clean = image.astype(np.float64)
    moved = clean
    for _ in range(STEPS):
        gradient = loss_gradient(moved[np.newaxis], [label])[0]
        moved = np.clip(moved + STEP * gradient / max(float(np.linalg.norm(gradient)), 1e-12), 0, 255)
    search_line(model, clean, moved - clean)
    if model.best is None:  # the other model sees images in another way than yours
        search_line(model, clean, rng.normal(size=image.shape))


if __name__ == "__main__":
    serve_attack(attack)
