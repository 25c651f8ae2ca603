"""Momentum iterative method on an ensemble."""

from __future__ import annotations

import sys

from classifiers import load
from gradient_attack import Method, attack
from image_files import read_images, write_image

METHOD = Method(step=0.1, momentum=1.0)


def main(source, destination, epsilon):
    names, images = read_images(source)
    surrogates = load(images.shape[1], digits=("plain", "robust", "frozen-noise"), lite=(1, 2))
    made = attack(surrogates, images, int(epsilon), METHOD)
    for name, image in zip(names, made, strict=True):
        write_image(destination, name, image)


if __name__ == "__main__":
    main(*sys.argv[1:])
