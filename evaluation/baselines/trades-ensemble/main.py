"""Model server for the ensemble with the weights next to this file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from network import predict_labels
from numpy.typing import NDArray
from weighted_ensemble import load_ensemble

from gauntlet import serve_model

ENSEMBLE = load_ensemble(Path(__file__).with_name("weights.safetensors"))


def predict(images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the label of each image; images are (n, 64, 64, 3)."""
    return predict_labels(ENSEMBLE, images)


if __name__ == "__main__":
    serve_model(predict)
