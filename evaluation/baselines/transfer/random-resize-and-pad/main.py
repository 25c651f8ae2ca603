"""Random resizing and padding."""

from __future__ import annotations

import hashlib
import sys

import numpy as np
import torch
from classifiers import CHUNK, as_pixels, load
from image_files import read_images, write_labels
from torch.nn import functional

PATTERNS = 30
SIDE, SMALLEST, PADDED = 299, 310, 331
"""Pixels of a side in 2017: an image, the smallest enlarged one, and all after padding, larger than enlarged ones."""


def patterns(image, padding):
    """Return enlarged copies (30, 3, h, h) of the image (h, w, 3), flipped and padded with a value at random.

    The draws depend on the image alone, so that equal images get equal labels.
    """
    random = np.random.default_rng(list(hashlib.sha256(image.tobytes()).digest()))
    pixels, side = as_pixels(image[None]), len(image)
    whole = round(side * PADDED / SIDE)
    found = torch.full((PATTERNS, 3, whole, whole), padding)
    for pattern in found:
        size = int(random.integers(round(side * SMALLEST / SIDE), whole))
        top, left = random.integers(0, whole - size + 1, 2)
        enlarged = functional.interpolate(pixels, (size, size), mode="nearest")[0]
        pattern[:, top : top + size, left : left + size] = enlarged.flip(2) if random.integers(2) else enlarged
    return found


def predict(classifier, images):
    """Return the label of each image by the sum of the probabilities of its patterns."""
    classifier.side = round(classifier.side * PADDED / SIDE)  # it sees the images enlarged
    labels = []
    with torch.inference_mode():
        for image in images:
            chunks = patterns(image, padding=classifier.middle).split(CHUNK)
            labels.append(int(sum(classifier(chunk).softmax(1).sum(0) for chunk in chunks).argmax()))
    return labels


def main(source, result):
    names, images = read_images(source)
    (classifier,) = load(images.shape[1], digits=("robust",), lite=(0,)).values()
    write_labels(result, names, predict(classifier, images))


if __name__ == "__main__":
    main(*sys.argv[1:])
