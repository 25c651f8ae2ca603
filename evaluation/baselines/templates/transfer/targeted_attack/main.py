"""Targeted attack of 2017: steps towards the target class, along the sign of the gradient of your own network."""

from __future__ import annotations

import sys

import numpy as np
from gradient_steps import loss_gradient
from image_files import read_images, read_targets, write_image

STEPS = 20
CHUNK = 50  # images at a time


def attack(images, targets, epsilon):
    """Return the changed images (n, h, w, 3), within `epsilon` levels of the given ones."""
    clean = images.astype(np.float32)
    moved = clean
    for _ in range(STEPS):
        moved = moved - 2 * epsilon / STEPS * np.sign(loss_gradient(moved, targets))
        moved = np.clip(moved, np.maximum(clean - epsilon, 0), np.minimum(clean + epsilon, 255))
    return moved


def main(source, destination, epsilon):
    names, images = read_images(source)
    targets = read_targets(source, names)
    for start in range(0, len(images), CHUNK):
        made = attack(images[start : start + CHUNK], targets[start : start + CHUNK], int(epsilon))
        for name, image in zip(names[start:], made, strict=False):
            write_image(destination, name, image)


if __name__ == "__main__":
    main(*sys.argv[1:])
