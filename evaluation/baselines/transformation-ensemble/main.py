"""Model server for a network that sees each image under several transformations."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from network import as_input, load_network
from numpy.typing import NDArray
from PIL import Image

from gauntlet import serve_model

BITS = 3
"""Bits that are left of each value."""
QUALITY = 75
"""Of JPEG compression."""
CROP = 56
"""Pixels of a side of the crops: one of each corner, and one of the centre."""

NETWORK = load_network(Path(__file__).with_name("weights.safetensors"))


def views(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the image (h, w, 3) under each transformation, (7, h, w, 3)."""
    return np.stack([fewer_bits(image), compressed(image), *crops(image)])


def fewer_bits(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the image with evenly spaced values, 0 and 255 among them."""
    most = 2**BITS - 1
    return np.rint(np.rint(image / 255 * most) / most * 255).astype(np.uint8)


def compressed(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the image after JPEG compression."""
    file = BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=QUALITY)
    with Image.open(file) as opened:
        return np.asarray(opened.convert("RGB"))


def crops(image: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """Return parts of the image, enlarged to its size."""
    height, width = image.shape[:2]
    down, right = height - CROP, width - CROP
    corners = [(0, 0), (0, right), (down, 0), (down, right), (down // 2, right // 2)]
    whole = Image.fromarray(image)
    return [
        np.asarray(whole.resize((width, height), Image.Resampling.BILINEAR, (left, top, left + CROP, top + CROP)))
        for top, left in corners
    ]


def predict(images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the label of each image by the mean of the probabilities of its views; images are (n, 64, 64, 3)."""
    with torch.inference_mode():
        means = [NETWORK(as_input(views(image))).softmax(1).mean(0) for image in images]
        return torch.stack(means).argmax(1).numpy()


if __name__ == "__main__":
    serve_model(predict)
