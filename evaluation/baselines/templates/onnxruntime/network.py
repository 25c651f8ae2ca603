"""Your network, in ONNX Runtime. It comes with one hidden layer for the digits; replace `model.onnx`.

ONNX Runtime computes scores and no gradients, so this template is for models and defences.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnxruntime

_options = onnxruntime.SessionOptions()
# the sandbox says how many processors there are; by itself it takes all that the host has
_options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS") or 1)
SESSION = onnxruntime.InferenceSession(
    Path(__file__).with_name("model.onnx"), _options, providers=["CPUExecutionProvider"]
)


def scores(images):
    """Return the scores of the classes (n, 10) of images (n, 64, 64, 3) with values from 0 to 255."""
    (found,) = SESSION.run(None, {"pixels": np.asarray(images, np.float32)})
    return found
