"""A model that computes as long for an image as its first pixel says: so many products of 256 x 256 matrices."""

from __future__ import annotations

import numpy as np

from gauntlet import serve_model


def predict(images: np.ndarray) -> np.ndarray:
    """Return the label 0 for uint8 images (n, h, w, 3), after the products of each."""
    for image in images:
        matrix = np.full((256, 256), 0.5, np.float32)
        for _ in range(int(image[0, 0, 0])):
            matrix = np.maximum(matrix @ matrix * np.float32(1 / 128), 0)
    return np.zeros(len(images), np.int64)


serve_model(predict)
