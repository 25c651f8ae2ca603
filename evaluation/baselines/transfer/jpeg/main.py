"""JPEG compression."""

from __future__ import annotations

import sys
from io import BytesIO

import numpy as np
from classifiers import load, predict
from image_files import read_images, write_labels
from PIL import Image

QUALITY = 75


def compressed(images):
    """Return the images after JPEG compression."""
    found = []
    for image in images:
        file = BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=QUALITY)
        with Image.open(file) as opened:
            found.append(np.asarray(opened.convert("RGB")))
    return np.stack(found)


def main(source, result):
    names, images = read_images(source)
    classifiers = load(images.shape[1], digits=("plain",), lite=(0,))
    write_labels(result, names, predict(classifiers, compressed(images)))


if __name__ == "__main__":
    main(*sys.argv[1:])
