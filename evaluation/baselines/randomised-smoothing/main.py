"""Model server for the smoothed classifier with the weights next to this file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from network import load_network, predict_labels
from numpy.typing import NDArray
from smoothed_classifier import SmoothedClassifier

from gauntlet import serve_model

CLASSIFIER = SmoothedClassifier(load_network(Path(__file__).with_name("weights.safetensors")))


def predict(images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the label of each image; images are (n, 64, 64, 3)."""
    return predict_labels(CLASSIFIER, images)


if __name__ == "__main__":
    serve_model(predict)
