"""Training of a perceptron with numpy only: the recipe numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.images import Images
from evaluation.training.training_data import Labels, TrainingData
from evaluation.training.training_record import Progress

Floats = NDArray[np.float32]

POOL = 4
HIDDEN = 96
EPOCHS = 150
WEIGHTS = "weights.npz"

_BATCH = 50
_LEARNING_RATE = 2e-3
_WEIGHT_DECAY = 1e-4
_SHIFT = 5
"""The largest shift in pixels of training images."""


def features(images: Images) -> Floats:
    """Return the mean brightness of each 4 x 4 cell of images (n, h, w, 3), in 0..1, as (n, cells)."""
    n, height, width, channels = images.shape
    cells = images.reshape(n, height // POOL, POOL, width // POOL, POOL * channels).sum(axis=(2, 4), dtype=np.float32)
    flat: Floats = (cells / np.float32(255 * POOL * POOL * channels)).reshape(n, -1)
    return flat


def train_perceptron(data: TrainingData, *, seed: int, epochs: int, progress: Progress) -> dict[str, Floats]:
    """Train one hidden layer of rectified units by Adam on cross-entropy. Equal seeds give equal weights."""
    rng = np.random.default_rng(seed)
    inputs = features(data.images[:1]).shape[1]
    weights = {
        "hidden": (rng.standard_normal((inputs, HIDDEN)) * np.sqrt(2 / inputs)).astype(np.float32),
        "hidden_bias": np.zeros(HIDDEN, np.float32),
        "output": (rng.standard_normal((HIDDEN, data.classes)) * np.sqrt(1 / HIDDEN)).astype(np.float32),
        "output_bias": np.zeros(data.classes, np.float32),
    }
    update = _adam(weights)
    batch = min(_BATCH, len(data.images))
    steps = epochs * (len(data.images) // batch)
    done = 0
    for _ in range(epochs):
        order = rng.permutation(len(data.images))
        for start in range(0, len(order) - batch + 1, batch):
            chosen = order[start : start + batch]
            loss, gradients = _gradients(weights, features(_shifted(data.images[chosen], rng)), data.labels[chosen])
            update(gradients, _LEARNING_RATE * (1 - done / steps))
            done += 1
            progress(done, steps, f"loss {loss:.3f}")
    return weights


def logits(weights: dict[str, Floats], inputs: Floats) -> Floats:
    """Return class scores (n, classes) of features (n, cells)."""
    hidden = np.maximum(inputs @ weights["hidden"] + weights["hidden_bias"], 0)
    scores: Floats = hidden @ weights["output"] + weights["output_bias"]
    return scores


def accuracy(weights: dict[str, Floats], images: Images, labels: Labels) -> float:
    """Return the share of the images (n, h, w, 3) that are labelled right."""
    return float((logits(weights, features(images)).argmax(axis=1) == labels).mean())


def save_perceptron(weights: dict[str, Floats], folder: Path) -> int:
    """Write the weights. Return the number of values."""
    np.savez(folder / WEIGHTS, allow_pickle=False, **weights)
    return sum(array.size for array in weights.values())


def _gradients(weights: dict[str, Floats], inputs: Floats, labels: Labels) -> tuple[float, dict[str, Floats]]:
    """Return the mean cross-entropy of a batch and its gradient for each array of weights."""
    hidden = np.maximum(inputs @ weights["hidden"] + weights["hidden_bias"], 0)
    scores = hidden @ weights["output"] + weights["output_bias"]
    exponents = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = exponents / exponents.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = float(-np.log(shares[rows, labels] + 1e-12).mean())
    shares[rows, labels] -= 1
    errors = shares / np.float32(len(labels))
    hidden_errors = (errors @ weights["output"].T) * (hidden > 0)
    return loss, {
        "hidden": inputs.T @ hidden_errors + _WEIGHT_DECAY * weights["hidden"],
        "hidden_bias": hidden_errors.sum(axis=0),
        "output": hidden.T @ errors + _WEIGHT_DECAY * weights["output"],
        "output_bias": errors.sum(axis=0),
    }


def _adam(weights: dict[str, Floats]) -> Callable[[dict[str, Floats], float], None]:
    """Return Adam (Kingma and Ba 2015, algorithm 1) as a function that updates `weights` in place."""
    first = {name: np.zeros_like(array) for name, array in weights.items()}
    second = {name: np.zeros_like(array) for name, array in weights.items()}
    step = 0

    def update(gradients: dict[str, Floats], rate: float) -> None:
        nonlocal step
        step += 1
        for name, gradient in gradients.items():
            first[name] = np.float32(0.9) * first[name] + np.float32(0.1) * gradient
            second[name] = np.float32(0.999) * second[name] + np.float32(0.001) * gradient**2
            corrected = first[name] / np.float32(1 - 0.9**step)
            spread = np.sqrt(second[name] / np.float32(1 - 0.999**step)) + np.float32(1e-8)
            weights[name] -= np.float32(rate) * corrected / spread

    return update


def _shifted(images: Images, rng: np.random.Generator) -> Images:
    """Return each image shifted by a random whole number of pixels, with repeated edges."""
    height, width = images.shape[1:3]
    padded = np.pad(images, ((0, 0), (_SHIFT, _SHIFT), (_SHIFT, _SHIFT), (0, 0)), mode="edge")
    corners = rng.integers(0, 2 * _SHIFT + 1, (len(images), 2))
    return np.stack([padded[i, y : y + height, x : x + width] for i, (y, x) in enumerate(corners)])
