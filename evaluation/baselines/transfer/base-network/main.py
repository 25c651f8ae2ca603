"""Base network."""

from __future__ import annotations

import sys

from classifiers import load, predict
from image_files import read_images, write_labels


def main(source, result):
    names, images = read_images(source)
    classifiers = load(images.shape[1], digits=("plain",), lite=(0,))
    write_labels(result, names, predict(classifiers, images))


if __name__ == "__main__":
    main(*sys.argv[1:])
