"""Diverse inputs iterative method (Xie et al. 2019): MIM on images that are resized and padded at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import interpolate, pad

from evaluation.formats.curves.attacks.base import AttackedBatch
from evaluation.formats.curves.attacks.iterative import TransferMim


@dataclass(frozen=True)
class TransferDim(TransferMim):
    """MIM with the gradients of a substitute at resized and padded images."""

    name: ClassVar[str] = "transfer-dim"
    title: ClassVar[str] = "DIM (transfer)"
    source: ClassVar[str] = (
        "Xie et al. 2019, M-DI2-FGSM with its probability; its sizes of 299 to 330 in proportion, with the image's "
        "size for 330, so that every network takes them"
    )

    probability: float = 0.5
    """Of an image to be resized, at each iteration."""
    smallest: float = 299 / 330
    """The smallest side of a resized image, of its side."""

    def gradient(
        self, batch: AttackedBatch, images: Tensor, rows: Tensor, *, clean: bool, asked: bool
    ) -> tuple[Tensor, Tensor]:
        # 1. what the gradient is taken at, and how it depends on the images
        variable = images.detach().requires_grad_()
        with torch.enable_grad():
            diverse = self.diverse(variable, batch.uniform(rows, 4))
        _, gradient = batch.gradient(diverse.detach(), rows, batch.loss(rows), asked=False)
        (gradient,) = torch.autograd.grad(diverse, variable, gradient)
        # 2. the model sees the images themselves
        reached = batch.reached(images, rows) if asked else torch.zeros_like(rows, dtype=torch.bool)
        return reached, gradient

    def diverse(self, images: Tensor, drawn: Tensor) -> Tensor:
        """Return the images, some of them resized (nearest) and padded with zeros; `drawn` (n, 4) is in [0, 1)."""
        height, width = images.shape[2:]
        changed = []
        for image, (whether, size, down, right) in zip(images, drawn.tolist(), strict=True):
            if whether >= self.probability:
                changed.append(image)
                continue
            scale = self.smallest + (1.0 - self.smallest) * size
            high, wide = max(round(scale * height), 1), max(round(scale * width), 1)
            above, left = int(down * (height - high + 1)), int(right * (width - wide + 1))
            small = interpolate(image[None], (high, wide), mode="nearest")[0]
            changed.append(pad(small, (left, width - wide - left, above, height - high - above)))
        return torch.stack(changed)
