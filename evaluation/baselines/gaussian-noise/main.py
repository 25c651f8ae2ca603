"""Additive Gaussian noise of the smallest size at which one of many draws is adversarial."""

from __future__ import annotations

import numpy as np
from foolbox.attacks import L2RepeatedAdditiveGaussianNoiseAttack
from foolbox.criteria import Misclassification

from gauntlet import serve_attack
from gauntlet.foolbox_adapter import FoolboxModel

DRAWS = 40  # per noise size
ROUNDS = 12  # of bisection: at most 480 queries in total
LARGEST = 100.0  # L2 before clipping, for REFERENCE values; at this size the image is almost pure noise
REFERENCE = 64 * 64 * 3


def attack(model, image, label, *, target, rng):
    """Bisect the size of the noise. The referee keeps the closest adversarial, so nothing is returned."""
    foolbox_model = FoolboxModel(model)
    clean = image[np.newaxis].astype(np.float32) / 255
    criterion = Misclassification(np.array([label]))
    noise = L2RepeatedAdditiveGaussianNoiseAttack(repeats=DRAWS, check_trivial=False)
    low, high = 0.0, LARGEST * (image.size / REFERENCE) ** 0.5
    size = high
    for _ in range(ROUNDS):
        noisy = noise.run(foolbox_model, clean, criterion, epsilon=size)
        if (noisy != clean).any():
            high = size
        else:
            low = size
        size = (low + high) / 2


if __name__ == "__main__":
    serve_attack(attack)
