"""Adaptive ensemble (Brendel et al. 2020, algorithm 1): directions of several surrogates, then the Boundary Attack."""

from __future__ import annotations

import numpy as np
import torch
from foolbox import PyTorchModel
from foolbox.attacks import BoundaryAttack, DDNAttack
from foolbox.criteria import Misclassification, TargetedMisclassification
from label_steps import is_adversarial, length, starting_point, unit
from network import as_input
from surrogate_networks import loss_gradient, surrogates_for

from gauntlet import serve_attack
from gauntlet.foolbox_adapter import FoolboxModel

DDN_STEPS = 50
DOUBLINGS = 9  # the most times that a perturbation is doubled, or halved, until the model's label changes
BISECTIONS = 10
SPHERICAL_STEP, SOURCE_STEP, STEPS_BETWEEN_UPDATES = 0.1, 0.005, 5  # of the Boundary Attack
LEAST_STEPS = 1000  # of the Boundary Attack, or as many as queries are left: the budget ends it earlier


def attack(model, image, label, *, target, rng):
    """Search along each surrogate's directions, and refine the best image until the budget is used up."""
    clean = image.astype(np.float64)
    for perturbation in perturbations(image, label, target):
        search_line(model, clean, perturbation)
    if model.best is None:
        starting_point(model, clean, target, rng)
    if model.best is None or not model.best_distance:  # from the image itself, there is no way to walk
        return
    walk = BoundaryAttack(
        steps=max(LEAST_STEPS, model.queries_left),
        spherical_step=SPHERICAL_STEP,
        source_step=SOURCE_STEP,
        update_stats_every_k=STEPS_BETWEEN_UPDATES,
    )
    images, best = (one[np.newaxis].astype(np.float32) / 255 for one in (image, model.best))
    walk.run(FoolboxModel(model), images, criterion(label, target, np.array), starting_points=best)


def criterion(label, target, array):
    """Return foolbox's criterion; `array` makes what holds its label."""
    return Misclassification(array([label])) if target is None else TargetedMisclassification(array([target]))


def perturbations(image, label, target):
    """Yield the perturbations (h, w, c) by DDN and by FGM of each surrogate, in levels; both are as long."""
    images = as_input(image[np.newaxis])
    for surrogate in surrogates_for(image, label, target):
        bounded = PyTorchModel(surrogate, bounds=(0, 1), device="cpu")
        moved = DDNAttack(steps=DDN_STEPS).run(bounded, images, criterion(label, target, torch.tensor))
        nearest = 255 * (moved - images)[0].permute(1, 2, 0).double().numpy()
        size = length(nearest) or 255.0
        yield nearest
        yield size * unit(loss_gradient(surrogate, image.astype(np.float64), label, target))


def search_line(model, clean, perturbation):
    """Find the model's boundary along a perturbation: by doubling or halving it, then by bisection."""
    if not perturbation.any():
        return

    def errs_at(factor):
        return is_adversarial(model, clean + factor * perturbation)

    high = 1.0
    if errs_at(high):
        low = high / 2
        while errs_at(low):
            high, low = low, low / 2
            if low < 0.5**DOUBLINGS:
                return
    else:
        low, high = high, 2 * high
        while not errs_at(high):
            low, high = high, 2 * high
            if high > 2**DOUBLINGS:
                return
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if errs_at(middle) else (middle, high)


if __name__ == "__main__":
    serve_attack(attack)
