"""Augmentation by random shifts, rotations and scales, for variety with a few hundred training images."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Augmentation:
    """The largest random changes: shift as a share of the side, rotation in degrees, scale as a share."""

    shift: float = 0.09
    turn: float = 12.0
    scale: float = 0.12
    mirror: bool = False

    def __call__(self, images: Tensor) -> Tensor:
        """Transform each image (n, c, h, w) by its own draw from torch's global generator; edges are repeated."""
        count = len(images)
        angle = _between(count, math.radians(self.turn))
        zoom = 1 + _between(count, self.scale)
        cos, sin = angle.cos() * zoom, angle.sin() * zoom
        flip = torch.where(torch.rand(count) < 0.5, -1.0, 1.0) if self.mirror else torch.ones(count)
        shift_x, shift_y = _between(count, 2 * self.shift), _between(count, 2 * self.shift)
        rows = torch.stack([cos * flip, -sin, shift_x, sin * flip, cos, shift_y], dim=1)
        grid = functional.affine_grid(rows.view(count, 2, 3), list(images.shape), align_corners=False)
        return functional.grid_sample(images, grid.to(images.device), padding_mode="border", align_corners=False)


def _between(count: int, limit: float) -> Tensor:
    """Return uniform draws (count,) from -limit to limit, on the CPU, so that every device draws the same."""
    return (2 * torch.rand(count) - 1) * limit
