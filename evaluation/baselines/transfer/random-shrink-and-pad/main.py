"""Random shrinking and padding."""

from __future__ import annotations

import hashlib
import sys

import numpy as np
from classifiers import load, predict
from image_files import read_images, write_labels
from PIL import Image


def moved(images):
    """Return each image at a random size, at a random place on black."""
    return np.stack([_moved(image) for image in images])


def _moved(image):
    random = np.random.default_rng(list(hashlib.sha256(image.tobytes()).digest()))
    side = len(image)
    smaller = int(random.integers(side - side // 10, side + 1))
    top, left = random.integers(0, side - smaller + 1, 2)
    whole = np.zeros_like(image)
    small = Image.fromarray(image).resize((smaller, smaller), Image.Resampling.BILINEAR)
    whole[top : top + smaller, left : left + smaller] = np.asarray(small)
    return whole


def main(source, result):
    names, images = read_images(source)
    classifiers = load(images.shape[1], digits=("plain",), lite=(0,))
    write_labels(result, names, predict(classifiers, moved(images)))


if __name__ == "__main__":
    main(*sys.argv[1:])
