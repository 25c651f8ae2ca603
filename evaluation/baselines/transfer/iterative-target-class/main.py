"""Iterative target class."""

from __future__ import annotations

import sys

from classifiers import load
from gradient_attack import Method, attack
from image_files import read_images, read_targets, write_image

METHOD = Method(steps=20, step=0.1)


def main(source, destination, epsilon):
    names, images = read_images(source)
    surrogates = load(images.shape[1], digits=("plain", "robust", "frozen-noise"), lite=(1, 2))
    made = attack(surrogates, images, int(epsilon), METHOD, read_targets(source, names))
    for name, image in zip(names, made, strict=True):
        write_image(destination, name, image)


if __name__ == "__main__":
    main(*sys.argv[1:])
