"""Model server for EfficientNet-Lite1 with the linear head next to this file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scaled_lite_network import load_network

from gauntlet import serve_model

NETWORK = load_network("efficientnet-lite1", Path(__file__).with_name("weights.safetensors"))


def predict(images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the label of each image; images are (n, h, w, 3)."""
    pixels = torch.from_numpy(np.array(images)).permute(0, 3, 1, 2).float().div_(255.0)
    with torch.inference_mode():
        return NETWORK(pixels).argmax(1).numpy()


if __name__ == "__main__":
    serve_model(predict)
