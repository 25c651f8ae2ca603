"""Step towards the target class."""

from __future__ import annotations

import sys

from classifiers import load
from gradient_attack import Method, attack
from image_files import read_images, read_targets, write_image

METHOD = Method(steps=1, step=1.0)


def main(source, destination, epsilon):
    names, images = read_images(source)
    surrogates = load(images.shape[1], digits=("plain",), lite=(1,))
    made = attack(surrogates, images, int(epsilon), METHOD, read_targets(source, names))
    for name, image in zip(names, made, strict=True):
        write_image(destination, name, image)


if __name__ == "__main__":
    main(*sys.argv[1:])
