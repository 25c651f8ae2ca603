"""Iterative targeted transfer: gradient steps on two surrogates towards the target, then a line search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from foolbox import PyTorchModel
from foolbox.attacks import L2BasicIterativeAttack
from foolbox.criteria import TargetedMisclassification
from network import as_input, load_network
from surrogates import RADII

from gauntlet import serve_attack

HERE = Path(__file__).parent
FILE = HERE / "starts.npz"  # images of each class, if there are any
STARTS = dict(np.load(FILE, allow_pickle=False)) if FILE.exists() else {"images": np.empty(0), "labels": np.empty(0)}
NETWORKS = {name: load_network(HERE / name).requires_grad_(False) for name in RADII if (HERE / name).exists()}
DIRECTIONS = [(NETWORKS[name], radius) for name, radii in RADII.items() if name in NETWORKS for radius in radii]
if not NETWORKS:
    print(f"no weights of surrogates ({', '.join(RADII)}) beside main.py: there are no directions", flush=True)
GRADIENT_STEPS = 10
SHARES = (0.2, 0.35, 0.5, 0.65, 0.8, 0.95)  # of the best known distance, along a direction
BISECTIONS = 10


def attack(model, image, label, *, target, rng):
    """Search lines to known target images, then the surrogates' directions. The referee keeps the closest result."""
    clean = image.astype(np.float64)
    far = [one.astype(np.float64) for one in STARTS["images"][STARTS["labels"] == target] if one.shape == model.shape]
    for point, found in zip(far, model.many(far), strict=True):
        if model.is_adversarial(found):
            bisect(model, clean, (point - clean) / 255, 0.0, 1.0)
    for network, radius in DIRECTIONS:
        search_line(model, clean, direction(network, image, target, radius), radius)


def direction(network, image, target, radius):
    """Return the unit vector from the image to a surrogate's best target image in a ball of this radius, or zeros."""
    surrogate = PyTorchModel(network, bounds=(0, 1), device="cpu")
    method = L2BasicIterativeAttack(rel_stepsize=2 / GRADIENT_STEPS, steps=GRADIENT_STEPS)
    images = as_input(np.broadcast_to(image, (*image.shape[:2], 3))[np.newaxis])  # one channel thrice
    moved = method.run(surrogate, images, TargetedMisclassification(torch.tensor([target])), epsilon=float(radius))
    change = (moved - images)[0].permute(1, 2, 0).double().numpy()
    if image.shape[2] == 1:
        change = change.sum(2, keepdims=True)
    return change / (np.linalg.norm(change) or 1.0)


def search_line(model, clean, unit, radius):
    """Find the boundary of the target class along `unit`, if it is closer than the best known adversarial."""
    known = model.best_distance if np.isfinite(model.best_distance) else 3.0 * radius
    low = 0.0
    for size in known * np.array(SHARES):
        if model.is_adversarial(model(clean + 255 * size * unit)):
            bisect(model, clean, unit, low, size)
            return
        low = size


def bisect(model, clean, line, low, high):
    """Bisect between a share `low` of `line` that is not adversarial and a share `high` that is."""
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if model.is_adversarial(model(clean + 255 * middle * line)):
            high = middle
        else:
            low = middle


if __name__ == "__main__":
    serve_attack(attack)
