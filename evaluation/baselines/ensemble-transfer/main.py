"""Ensemble transfer (Brendel et al. 2020, algorithm 2): three kinds of adversarials of an ensemble of surrogates."""

from __future__ import annotations

import numpy as np
import torch
from foolbox import PyTorchModel
from foolbox.attacks import LinfBasicIterativeAttack, LinfDeepFoolAttack
from foolbox.criteria import Misclassification, TargetedMisclassification
from label_steps import is_adversarial, length, starting_point
from network import as_input
from surrogate_networks import surrogates_for

from gauntlet import serve_attack

GRADIENT_STEPS = 10  # of projected gradient descent
RADII = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # of the balls (L-inf), in levels
BISECTIONS = 8


class Ensemble(torch.nn.Module):
    """The mean of the surrogates' logits."""

    def __init__(self, surrogates):
        super().__init__()
        self.surrogates = torch.nn.ModuleList(surrogates)

    def forward(self, images):
        return torch.stack([surrogate(images) for surrogate in self.surrogates]).mean(0)


def attack(model, image, label, *, target, rng):
    """Search the smallest adversarial of each kind. The referee keeps the closest, so nothing is returned."""
    clean, surrogates = image.astype(np.float64), surrogates_for(image, label, target)
    for images_of in kinds(Ensemble(surrogates), image, label, target) if surrogates else ():
        search_radius(model, clean, images_of)
    if model.best is None:
        starting_point(model, clean, target, rng)


def kinds(ensemble, image, label, target):
    """Yield functions from a radius (L-inf, levels) to the ensemble's adversarial (h, w, c) of that size.

    They are projected gradient descent, one step along signs (FGSM) and, untargeted, the line of DeepFool.
    """
    bounded, images = PyTorchModel(ensemble.eval(), bounds=(0, 1), device="cpu"), as_input(image[np.newaxis])
    wanted = torch.tensor([label if target is None else target])
    criterion = Misclassification(wanted) if target is None else TargetedMisclassification(wanted)

    def descended(steps):
        method = LinfBasicIterativeAttack(rel_stepsize=2 / steps if steps > 1 else 1, steps=steps)
        return lambda radius: levels(method.run(bounded, images, criterion, epsilon=radius / 255))

    yield descended(GRADIENT_STEPS)
    yield descended(1)
    if target is None:
        change = levels(LinfDeepFoolAttack().run(bounded, images, criterion)) - image
        largest = np.abs(change).max()
        if largest:
            yield lambda radius: image + radius / largest * change


def levels(images):
    """Return a batch of one (1, c, h, w) of 0..1 as an image (h, w, c) of levels."""
    return 255 * images[0].permute(1, 2, 0).double().numpy()


def search_radius(model, clean, images_of):
    """Search the smallest radius at which the model errs; stop where images are no nearer than the best known one."""
    low = 0.0
    for high in RADII:
        moved = images_of(high)
        if length(moved - clean) >= 255 * model.best_distance:
            return
        if is_adversarial(model, moved):
            break
        low = high
    else:
        return
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_adversarial(model, images_of(middle)) else (middle, high)


if __name__ == "__main__":
    serve_attack(attack)
