"""Files of a submission of the transfer format: images in, images or labels out."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from PIL import Image

FIRST_LABEL = 1
"""Files count classes from 1, networks from 0."""


def read_images(directory):
    """Return the names of the PNG files in `directory`, sorted, and their pixels (n, h, w, 3) in uint8."""
    paths = sorted(Path(directory).glob("*.png"))
    images = []
    for path in paths:
        with Image.open(path) as image:
            images.append(np.asarray(image.convert("RGB")))
    return [path.name for path in paths], np.stack(images)


def read_targets(directory, names):
    """Return the target class of each image in `target_class.csv`, from 0."""
    with (Path(directory) / "target_class.csv").open(newline="") as file:
        targets = {name: int(label) - FIRST_LABEL for name, label in csv.reader(file)}
    return np.array([targets[name] for name in names])


def write_image(directory, name, image):
    """Write one image (h, w, 3); values are rounded and clipped to 0..255."""
    pixels = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(Path(directory) / name)


def write_labels(path, names, labels):
    """Write the label of each image, from 0."""
    with Path(path).open("w", newline="") as file:
        csv.writer(file).writerows((name, int(label) + FIRST_LABEL) for name, label in zip(names, labels, strict=True))
