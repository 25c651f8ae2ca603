"""Median filter before adversarially trained networks."""

from __future__ import annotations

import sys

import numpy as np
from classifiers import HERE, for_digits, load, predict
from image_files import read_images, write_labels
from weighted_ensemble import load_ensemble


def smoothed(images):
    """Return the images (n, h, w, 3) with the median of each pixel and those left of it, above it and between these.

    At the borders, pixels repeat. The median of four values is the mean of the middle two.
    """
    wider = np.pad(images, ((0, 0), (1, 0), (1, 0), (0, 0)), mode="edge")
    windows = [wider[:, 1:, 1:], wider[:, 1:, :-1], wider[:, :-1, 1:], wider[:, :-1, :-1]]
    return np.median(windows, axis=0).astype(np.float32)


def main(source, result):
    names, images = read_images(source)
    classifiers = load(images.shape[1], digits=("robust",), lite=())
    classifiers["trades"] = for_digits(load_ensemble(HERE / "trades.safetensors"))
    write_labels(result, names, predict(classifiers, smoothed(images)))


if __name__ == "__main__":
    main(*sys.argv[1:])
