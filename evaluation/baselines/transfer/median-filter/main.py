"""Median filter."""

from __future__ import annotations

import sys

import numpy as np
from classifiers import load, predict
from image_files import read_images, write_labels
from PIL import Image, ImageFilter

WIDTH = 3


def smoothed(images):
    """Return the images after a median filter."""
    return np.stack([np.asarray(Image.fromarray(image).filter(ImageFilter.MedianFilter(WIDTH))) for image in images])


def main(source, result):
    names, images = read_images(source)
    classifiers = load(images.shape[1], digits=("plain",), lite=(0,))
    write_labels(result, names, predict(classifiers, smoothed(images)))


if __name__ == "__main__":
    main(*sys.argv[1:])
