"""Iterative transfer: the basic iterative method on two surrogates, at increasing sizes, then a line search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from foolbox import PyTorchModel
from foolbox.attacks import L2BasicIterativeAttack
from foolbox.criteria import Misclassification
from network import as_input, load_network
from surrogates import RADII

from gauntlet import serve_attack

HERE = Path(__file__).parent
NETWORKS = {name: load_network(HERE / name).requires_grad_(False) for name in RADII if (HERE / name).exists()}
DIRECTIONS = [(NETWORKS[name], radius) for name, radii in RADII.items() if name in NETWORKS for radius in radii]
if not NETWORKS:
    print(f"no weights of surrogates ({', '.join(RADII)}) beside main.py: there are no directions", flush=True)
GRADIENT_STEPS = 10
LINE = np.geomspace(0.3, 60, 28)  # L2 distances along a direction, smallest first
BISECTIONS = 10


def attack(model, image, label, *, target, rng):
    """Search along each direction. The referee keeps the closest adversarial, so nothing is returned."""
    clean = image.astype(np.float64)
    for network, radius in DIRECTIONS:
        search_line(model, clean, direction(network, image, label, radius))


def direction(network, image, label, radius):
    """Return the unit vector from the image to its adversarial for a surrogate in a ball of this radius, or zeros."""
    surrogate = PyTorchModel(network, bounds=(0, 1), device="cpu")
    method = L2BasicIterativeAttack(rel_stepsize=2 / GRADIENT_STEPS, steps=GRADIENT_STEPS)
    images = as_input(np.broadcast_to(image, (*image.shape[:2], 3))[np.newaxis])  # one channel thrice
    moved = method.run(surrogate, images, Misclassification(torch.tensor([label])), epsilon=float(radius))
    change = (moved - images)[0].permute(1, 2, 0).double().numpy()
    if image.shape[2] == 1:
        change = change.sum(2, keepdims=True)
    return change / (np.linalg.norm(change) or 1.0)


def search_line(model, clean, unit):
    """Find the boundary along `unit`, if it is closer than the best known adversarial."""

    def errs_at(size):
        return model.is_adversarial(model(clean + 255 * size * unit))

    low = 0.0
    sizes = [0.9 * model.best_distance] if model.best is not None else LINE
    for size in sizes:
        if errs_at(size):
            high = size
            for _ in range(BISECTIONS):
                middle = (low + high) / 2
                if errs_at(middle):
                    high = middle
                else:
                    low = middle
            return
        low = size


if __name__ == "__main__":
    serve_attack(attack)
