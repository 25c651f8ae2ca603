"""Randomised smoothing with noise that never changes (Cohen et al. 2019).

This file needs torch, and nothing from Gauntlet: a bundled submission contains it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

DEVIATION = 1.0
"""Standard deviation of the noise, for pixels in 0..1, in training and in prediction."""

PATTERNS = 100
"""Patterns of noise, each of which is a vote."""


class SmoothedClassifier(nn.Module):
    """The share of the votes for each class: a network labels each image under each pattern of noise.

    The patterns are drawn once, and each image is a batch of its own, so that its label depends on the image alone. In
    place of the votes, which have no gradients, those of the mean probabilities are returned.
    """

    noise: Tensor

    def __init__(self, network: nn.Module, shape: tuple[int, int, int] = (3, 64, 64)) -> None:
        super().__init__()
        self.network = network
        noise = torch.randn((PATTERNS, *shape), generator=torch.Generator().manual_seed(0))
        self.register_buffer("noise", DEVIATION * noise, persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        return torch.stack([self._votes(image) for image in images])

    def _votes(self, image: Tensor) -> Tensor:
        probabilities = self.network(image + self.noise).softmax(1)
        votes = functional.one_hot(probabilities.argmax(1), probabilities.shape[1])
        shares: Tensor = (probabilities + (votes - probabilities).detach()).mean(0)
        return shares
