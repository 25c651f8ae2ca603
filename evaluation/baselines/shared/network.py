"""Small residual networks for 64 x 64 pixel images, fast on one CPU thread.

The file needs torch and safetensors, and nothing from Gauntlet: the bundled submissions contain it as `network.py`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional


class FrozenNoise(nn.Module):
    """Adds noise to activations: a new draw at every training step, later one fixed draw (a buffer).

    The fixed draw keeps the network a deterministic, stateless function of one image, as the rules require.
    `level` is the standard deviation; `shape` is (channels, height, width).
    """

    noise: Tensor

    def __init__(self, shape: tuple[int, int, int], level: float) -> None:
        super().__init__()
        self.level = level
        self.register_buffer("noise", torch.randn(shape) * level)

    def forward(self, activations: Tensor) -> Tensor:
        if self.training:
            return activations + torch.randn_like(activations) * self.level
        return activations + self.noise


class Block(nn.Module):
    """Two 3 x 3 convolutions with a shortcut (He et al. 2016, figure 2)."""

    def __init__(self, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels_out)
        self.conv2 = nn.Conv2d(channels_out, channels_out, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels_out)
        self.shortcut = (
            nn.Sequential(nn.Conv2d(channels_in, channels_out, 1, stride, bias=False), nn.BatchNorm2d(channels_out))
            if stride != 1 or channels_in != channels_out
            else nn.Identity()
        )

    def forward(self, activations: Tensor) -> Tensor:
        inner = functional.relu(self.norm1(self.conv1(activations)))
        return functional.relu(self.norm2(self.conv2(inner)) + self.shortcut(activations))


class SmallResNet(nn.Module):
    """Logits of images (n, 3, 64, 64) in 0..1; about 92,000 weights, 3 million multiplications per image.

    Patches of 4 x 4 pixels become 16 channels at 16 x 16, then two residual stages work at 8 x 8 and 4 x 4.
    """

    def __init__(self, classes: int = 10, noise_level: float = 0.0) -> None:
        super().__init__()

        def noise(*shape: int) -> nn.Module:
            return FrozenNoise((shape[0], shape[1], shape[2]), noise_level) if noise_level else nn.Identity()

        self.stem = nn.Sequential(nn.Conv2d(3, 16, 4, 4, bias=False), nn.BatchNorm2d(16), nn.ReLU(), noise(16, 16, 16))
        self.stage1 = nn.Sequential(Block(16, 32, 2), noise(32, 8, 8))
        self.stage2 = nn.Sequential(Block(32, 32, 1), noise(32, 8, 8))
        self.stage3 = nn.Sequential(Block(32, 64, 2), noise(64, 4, 4))
        self.head = nn.Linear(64, classes)

    def forward(self, images: Tensor) -> Tensor:
        activations = self.stage3(self.stage2(self.stage1(self.stem(images))))
        logits: Tensor = self.head(activations.mean((2, 3)))
        return logits


class CompactResNet(nn.Module):
    """Logits of images (n, 3, 64, 64) in 0..1, for photographs: 1.6 million weights with 200 classes, and 80 million
    multiplications per image.

    Patches of 4 x 4 pixels that overlap by half become 32 channels at 32 x 32; three residual stages work at 16 x 16,
    8 x 8 and 4 x 4.
    """

    def __init__(self, classes: int = 200, noise_level: float = 0.0) -> None:
        super().__init__()

        def noise(*shape: int) -> nn.Module:
            return FrozenNoise((shape[0], shape[1], shape[2]), noise_level) if noise_level else nn.Identity()

        self.stem = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU())
        self.fine = nn.Sequential(Block(32, 64, 2), Block(64, 64, 1), noise(64, 16, 16))
        self.middle = nn.Sequential(Block(64, 128, 2), Block(128, 128, 1), noise(128, 8, 8))
        self.coarse = nn.Sequential(Block(128, 256, 2), noise(256, 4, 4))
        self.head = nn.Linear(256, classes)

    def forward(self, images: Tensor) -> Tensor:
        activations = self.coarse(self.middle(self.fine(self.stem(images))))
        logits: Tensor = self.head(activations.mean((2, 3)))
        return logits


def as_input(images: NDArray[np.uint8]) -> Tensor:
    """Return images (n, h, w, 3) of 0..255 as a tensor (n, 3, h, w) of 0..1, the input of the networks."""
    return torch.from_numpy(np.array(images)).permute(0, 3, 1, 2).float().div_(255.0)


def load_network(weights: Path, *, noise_level: float = 0.0) -> SmallResNet | CompactResNet:
    """Return the trained network in evaluation mode and single precision.

    The weights say which network it is, and the number of classes.
    """
    state = load_file(weights)
    architecture = CompactResNet if "fine.0.conv1.weight" in state else SmallResNet
    network = architecture(classes=len(state["head.bias"]), noise_level=noise_level)
    network.load_state_dict(state)
    return network.eval()


def predict_labels(network: nn.Module, images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the label of each image (n, h, w, 3)."""
    with torch.inference_mode():
        labels: NDArray[np.int64] = network(as_input(images)).argmax(1).numpy()
    return labels
