"""Networks of the defences for CIFAR-10: small enough to be trained in minutes on one CPU thread."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.baselines.shared.network import Block

INPUT_NOISE = 0.2
INNER_NOISE = 0.1
"""Standard deviations of RSE's noise before the first convolution and before each block (Liu et al. 2018)."""

RSE_DRAWS = 5
"""Draws of the noise whose answers RSE averages; the authors' code of Dong et al. 2020 takes 50."""


class FreshNoise(nn.Module):
    """Adds Gaussian noise of a standard deviation, another draw at each call, in training and afterwards."""

    def __init__(self, level: float) -> None:
        super().__init__()
        self.level = level

    def forward(self, activations: Tensor) -> Tensor:
        return activations + self.level * torch.randn_like(activations)


class Denoising(nn.Module):
    """A denoising block (Xie et al. 2019, figure 5): non-local means of the features, a 1 x 1 convolution, and a sum.

    Each place gets the mean of all places, weighed by the softmax of the products of their features (their Gaussian
    form without embedding, equation 4).
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.mix = nn.Conv2d(channels, channels, 1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        nn.init.zeros_(self.norm.weight)  # it begins as the identity, as in their code

    def forward(self, activations: Tensor) -> Tensor:
        places = activations.flatten(2).transpose(1, 2)
        means = functional.scaled_dot_product_attention(places, places, places)
        denoised: Tensor = self.norm(self.mix(means.transpose(1, 2).view(activations.shape)))
        return activations + denoised


class CifarResNet(nn.Module):
    """Logits of images (n, 3, 32, 32) in 0..1; 73,000 weights, 8 million multiplications an image.

    16 channels at 32 x 32 pixels, then a residual block of 32 channels at 16 x 16 and one of 64 at 8 x 8.
    With `noisy`, noise precedes the first convolution and each block: the network that RSE trains, whose answers are
    random. With `denoising`, a denoising block follows each residual block: 5,000 weights more.
    """

    def __init__(self, classes: int = 10, noisy: bool = False, denoising: bool = False) -> None:
        super().__init__()

        def noise(level: float) -> nn.Module:
            return FreshNoise(level) if noisy else nn.Identity()

        self.stem = nn.Sequential(
            noise(INPUT_NOISE), nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()
        )
        self.fine = nn.Sequential(noise(INNER_NOISE), Block(16, 32, 2))
        self.coarse = nn.Sequential(noise(INNER_NOISE), Block(32, 64, 2))
        if denoising:
            self.fine.append(Denoising(32))
            self.coarse.append(Denoising(64))
        self.head = nn.Linear(64, classes)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.head(self.coarse(self.fine(self.stem(images))).mean((2, 3)))
        return logits


class ConvexNet(nn.Sequential):
    """Logits of images (n, 3, 32, 32) in 0..1, from the layers whose bounds `gauntlet train convex` computes.

    Patches of 4 x 4 pixels that overlap by half become 16 channels at 15 x 15: 37,000 weights.
    """

    def __init__(self, classes: int = 10) -> None:
        super().__init__(nn.Conv2d(3, 16, 4, 2), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 15 * 15, classes))


class MeanOverDraws(nn.Module):
    """In evaluation, the mean answer of a random network over several draws, such as RSE's (Liu et al. 2018).

    The mean is of probabilities and the result its logarithm; a gradient through it is their mean too (expectation
    over transformations). In training each image has one draw.
    """

    def __init__(self, network: nn.Module, draws: int) -> None:
        super().__init__()
        self.network, self.draws = network, draws

    def forward(self, images: Tensor) -> Tensor:
        if self.training:
            logits: Tensor = self.network(images)
            return logits
        every = self.network(images.repeat(self.draws, 1, 1, 1))
        return mean_answer(every.view(self.draws, len(images), -1))


class Ensemble(nn.Module):
    """The mean answer of several networks: the logarithm of the mean of their probabilities."""

    def __init__(self, members: Iterable[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def answers(self, images: Tensor) -> Tensor:
        """Return the logits of each member, (members, n, classes)."""
        return torch.stack([member(images) for member in self.members])

    def forward(self, images: Tensor) -> Tensor:
        return mean_answer(self.answers(images))


def mean_answer(logits: Tensor) -> Tensor:
    """Return the logarithm of the mean probabilities (n, classes) of logits (answers, n, classes)."""
    return logits.float().log_softmax(-1).logsumexp(0) - torch.log(torch.tensor(float(len(logits))))
