"""Bit depth reduction."""

from __future__ import annotations

import sys

import numpy as np
from classifiers import load, predict
from image_files import read_images, write_labels

LEVELS = 2**3


def reduced(images):
    """Return the images with few levels, spread from 0 to 255."""
    steps = LEVELS - 1
    return (np.rint(images / 255 * steps) * (255 / steps)).astype(np.float32)


def main(source, result):
    names, images = read_images(source)
    classifiers = load(images.shape[1], digits=("plain",), lite=(0,))
    write_labels(result, names, predict(classifiers, reduced(images)))


if __name__ == "__main__":
    main(*sys.argv[1:])
