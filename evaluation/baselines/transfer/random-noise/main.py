"""Random noise."""

from __future__ import annotations

import sys

import numpy as np
from image_files import read_images, write_image


def main(source, destination, epsilon):
    random = np.random.default_rng(0)
    for name, image in zip(*read_images(source), strict=True):
        write_image(destination, name, image + int(epsilon) * random.choice((-1.0, 1.0), image.shape))


if __name__ == "__main__":
    main(*sys.argv[1:])
