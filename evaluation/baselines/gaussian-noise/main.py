"""Additive Gaussian noise of the smallest size at which one of many draws is adversarial."""

from __future__ import annotations

import numpy as np

from gauntlet import serve_attack

DRAWS = 40  # per noise size
ROUNDS = 12  # of bisection: at most 480 queries in total
LARGEST = 100.0  # L2 before clipping, for REFERENCE values; at this size the image is almost pure noise
REFERENCE = 64 * 64 * 3


def attack(model, image, label, *, target, rng):
    """Bisect the size of the noise. The referee keeps the closest adversarial, so nothing is returned."""
    clean = image.astype(np.float32) / 255
    low, high = 0.0, LARGEST * (image.size / REFERENCE) ** 0.5
    size = high
    for _ in range(ROUNDS):
        if any(model.is_adversarial(model(255 * noisy(clean, size))) for _ in range(DRAWS)):
            high = size
        else:
            low = size
        size = (low + high) / 2


def noisy(clean, size):
    """Return `clean` (values in 0 to 1) with Gaussian noise of L2 norm `size`, clipped."""
    noise = np.random.normal(size=clean.shape)  # the SDK seeds this generator, which foolbox uses, too
    return (clean + size / np.linalg.norm(noise) * noise).clip(0, 1)


if __name__ == "__main__":
    serve_attack(attack)
