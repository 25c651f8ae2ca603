"""Perceptron with one hidden layer, in numpy only: a small model as a starting point."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gauntlet import serve_model

POOL = 4
WEIGHTS = dict(np.load(Path(__file__).with_name("weights.npz"), allow_pickle=False))


def features(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the mean brightness of each 4 x 4 cell, from 0 to 1; (n, 64, 64, 3) becomes (n, 256)."""
    n, height, width, channels = images.shape
    cells = images.reshape(n, height // POOL, POOL, width // POOL, POOL * channels).sum(axis=(2, 4), dtype=np.float32)
    return (cells / np.float32(255 * POOL * POOL * channels)).reshape(n, -1)


def hidden(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the activations of the hidden layer, (n, 96)."""
    return np.maximum(features(images) @ WEIGHTS["hidden"] + WEIGHTS["hidden_bias"], 0)


def scores(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the logits of each image, (n, 10)."""
    return hidden(images) @ WEIGHTS["output"] + WEIGHTS["output_bias"]


def predict(images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the label of each image; images are (n, 64, 64, 3)."""
    return scores(images).argmax(axis=1)


def gradients(images: NDArray[np.uint8], weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the gradient of the sum of `weights` (n, 10) times scores by the values of each image."""
    n, height, width, channels = images.shape
    of_hidden = weights @ WEIGHTS["output"].T * (hidden(images) > 0)
    of_cells = of_hidden @ WEIGHTS["hidden"].T / np.float32(255 * POOL * POOL * channels)
    cells = of_cells.reshape(n, height // POOL, 1, width // POOL, 1, 1)
    return np.broadcast_to(cells, (n, height // POOL, POOL, width // POOL, POOL, channels)).reshape(images.shape)


if __name__ == "__main__":
    serve_model(predict, scores=scores, gradients=gradients)
