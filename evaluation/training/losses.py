"""Losses of a batch, for each recipe that trains a network."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.training.adversary import l2_pgd


@dataclass(frozen=True)
class PlainLoss:
    """Cross-entropy of the unchanged images."""

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float) -> Tensor:
        """Return the loss of a batch; `done` is the completed share of the training."""
        return functional.cross_entropy(network(images), labels)


@dataclass(frozen=True)
class LogitPairingLoss:
    """Adversarial logit pairing (Kannan, Kurakin and Goodfellow 2018, eq. 2).

    Cross-entropy over a mixed batch, half clean and half adversarial, plus `pairing` times the mean squared
    difference between the logits of each clean image and of its adversarial. The adversary's L2 radius (pixels in
    0..1) grows from zero to `radius` over the first `warm_up` share of the training.
    """

    radius: float
    steps: int
    pairing: float = 0.5
    warm_up: float = 0.3

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float) -> Tensor:
        """Return the loss of a batch; `done` is the completed share of the training."""
        radius = self.radius * min(1.0, done / self.warm_up + 1e-3)
        adversarial = l2_pgd(network, images, labels, radius=radius, steps=self.steps)
        logits = network(torch.cat([images, adversarial]))
        clean, perturbed = logits.chunk(2)
        mixed = functional.cross_entropy(logits, torch.cat([labels, labels]))
        loss: Tensor = mixed + self.pairing * (clean - perturbed).square().mean()
        return loss
