"""Boundary Attack (Brendel, Rauber and Bethge 2018), limited to the budget."""

from __future__ import annotations

import numpy as np
from foolbox.attacks import BoundaryAttack
from foolbox.criteria import Misclassification

from gauntlet import serve_attack
from gauntlet.foolbox_adapter import FoolboxModel

NOISE_STARTS = 10
BISECTIONS = 10
LEAST_STEPS = 1000  # or as many as queries are left: the budget ends the attack earlier


def attack(model, image, label, *, target, rng):
    """Start on the boundary and walk along it towards the image until the budget is used up."""
    start = starting_point(model, image.astype(np.float64), rng)
    if start is None or np.array_equal(start, image):  # from the image itself, there is no way to walk
        return None
    steps = max(LEAST_STEPS, model.queries_left)
    walk = BoundaryAttack(steps=steps, spherical_step=0.1, source_step=0.005, update_stats_every_k=5)
    clean = image[np.newaxis].astype(np.float32) / 255
    walk.run(
        FoolboxModel(model),
        clean,
        Misclassification(np.array([label])),
        starting_points=start[np.newaxis].astype(np.float32) / 255,
    )
    return None


def starting_point(model, image, rng):
    """Return an adversarial near the boundary, on a line from the image to noise or to a changed copy, or None."""
    far = [rng.uniform(0, 255, image.shape) for _ in range(NOISE_STARTS)]
    turned = [one for one in (np.rot90(image, turns) for turns in (1, 2, 3)) if one.shape == image.shape]
    moved = [np.roll(image, len(image) // 2, axis) for axis in (0, 1)]
    far += [255 - image, image[::-1], *turned, *moved, np.zeros_like(image), np.full_like(image, 255)]
    far = [point for point, found in zip(far, model.many(far), strict=True) if model.is_adversarial(found)]
    if not far:
        return None
    best = None
    for point in far[:4]:
        low, high = 0.0, 1.0
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            if model.is_adversarial(model(image + middle * (point - image))):
                high = middle
            else:
                low = middle
        candidate = np.rint(image + high * (point - image))
        if best is None or np.linalg.norm(candidate - image) < np.linalg.norm(best - image):
            best = candidate
    return best


if __name__ == "__main__":
    serve_attack(attack)
