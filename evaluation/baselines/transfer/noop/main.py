"""No change."""

from __future__ import annotations

import sys

from image_files import read_images, write_image


def main(source, destination, epsilon):
    for name, image in zip(*read_images(source), strict=True):
        write_image(destination, name, image)


if __name__ == "__main__":
    main(*sys.argv[1:])
