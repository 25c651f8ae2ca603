"""Denoising U-net: `guided-denoiser` subtracts its output from an image, `attack-network` adds it.

The file needs torch and safetensors, and nothing from Gauntlet: the bundled submissions contain it as `unet.py`.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

PATCH = 4
"""Pixels of a side that become channels before the first convolution, so that a CPU is fast enough."""


class Convolution(nn.Sequential):
    """A 3 x 3 convolution, batch normalisation and ReLU."""

    def __init__(self, channels_in: int, channels_out: int, stride: int = 1) -> None:
        super().__init__(
            nn.Conv2d(channels_in, channels_out, 3, stride, 1, bias=False), nn.BatchNorm2d(channels_out), nn.ReLU()
        )


def _two(channels_in: int, channels_out: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(Convolution(channels_in, channels_out, stride), Convolution(channels_out, channels_out))


class UNet(nn.Module):
    """A change (n, 3, h, w) of images (n, 3, h, w) in 0..1; h and w are multiples of 4. About 130,000 weights.

    An encoder and a decoder with lateral connections at each resolution (Ronneberger et al. 2015; Liao et al. 2018,
    section 3.2): only the change is predicted, not the image.
    """

    def __init__(self) -> None:
        super().__init__()
        fine, middle, coarse = 24, 32, 48
        self.down1 = _two(3 * PATCH**2, fine)
        self.down2 = _two(fine, middle, 2)
        self.down3 = _two(middle, coarse, 2)
        self.up2 = _two(coarse + middle, middle)
        self.up1 = _two(middle + fine, fine)
        self.head = nn.Conv2d(fine, 3 * PATCH**2, 1)

    def forward(self, images: Tensor) -> Tensor:
        first = self.down1(functional.pixel_unshuffle(images, PATCH))
        second = self.down2(first)
        third = self.down3(second)
        second = self.up2(_beside(third, second))
        first = self.up1(_beside(second, first))
        return functional.pixel_shuffle(self.head(first), PATCH)


def denoised(network: nn.Module, images: Tensor) -> Tensor:
    """Return images without the noise that the network sees in them (Kurakin et al. 2018, equations 11 and 12)."""
    change: Tensor = network(images)
    return images - change


def attacked(network: nn.Module, images: Tensor, epsilon: Tensor | float) -> Tensor:
    """Return images (n, 3, h, w) in 0..1, changed by at most epsilon (Kurakin et al. 2018, section 5.7.1)."""
    change: Tensor = epsilon * torch.tanh(network(images))
    return (images + change).clamp(0, 1)


def load_unet(weights: Path) -> UNet:
    """Return the trained network in evaluation mode and single precision."""
    network = UNet()
    counts = {name: torch.tensor(0) for name in network.state_dict() if name.endswith("num_batches_tracked")}
    network.load_state_dict(counts | load_file(weights))
    return network.eval()


def _beside(coarse: Tensor, fine: Tensor) -> Tensor:
    """Return the coarse activations in the size of the fine ones, and these."""
    return torch.cat([functional.interpolate(coarse, fine.shape[-2:]), fine], dim=1)
