"""Boundary Attack (Brendel, Rauber and Bethge 2018) from an image of the target class, limited to the budget."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from foolbox.attacks import BoundaryAttack
from foolbox.criteria import TargetedMisclassification

from gauntlet import serve_attack
from gauntlet.foolbox_adapter import FoolboxModel

STARTS = dict(np.load(Path(__file__).with_name("starts.npz"), allow_pickle=False))
BISECTIONS = 10
LEAST_STEPS = 1000  # or as many as queries are left: the budget ends the attack earlier


def attack(model, image, label, *, target, rng):
    """Start on the boundary and walk along it towards the image until the budget is used up."""
    start = starting_point(model, image.astype(np.float64), target)
    if start is None or np.array_equal(start, image):  # from the image itself, there is no way to walk
        return None
    steps = max(LEAST_STEPS, model.queries_left)
    walk = BoundaryAttack(steps=steps, spherical_step=0.1, source_step=0.005, update_stats_every_k=5)
    clean = image[np.newaxis].astype(np.float32) / 255
    walk.run(
        FoolboxModel(model),
        clean,
        TargetedMisclassification(np.array([target])),
        starting_points=start[np.newaxis].astype(np.float32) / 255,
    )
    return None


def starting_point(model, image, target):
    """Return the closest point on lines to known target images that the model labels as the target, or None."""
    far = [one.astype(np.float64) for one in STARTS["images"][STARTS["labels"] == target] if one.shape == model.shape]
    far = [point for point, found in zip(far, model.many(far), strict=True) if model.is_adversarial(found)]
    for point in far:
        low, high = 0.0, 1.0
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            if model.is_adversarial(model(image + middle * (point - image))):
                high = middle
            else:
                low = middle
    return model.best


if __name__ == "__main__":
    serve_attack(attack)
