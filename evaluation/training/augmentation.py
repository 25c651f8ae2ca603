"""Augmentations: a random change of each training image, which makes the network's input of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional


class Augmentation(Protocol):
    """A function from images uint8 (n, h, w, 3) to changed ones (n, 3, h, w) in 0..1; draws are torch's."""

    def __call__(self, images: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class Warp:
    """Random shifts, rotations and scales, for variety with a few hundred training images; edges are repeated.

    The largest changes: shift as a share of the side, rotation in degrees, scale as a share.
    """

    shift: float = 0.09
    turn: float = 12.0
    scale: float = 0.12

    def __call__(self, images: Tensor) -> Tensor:
        count, device = len(images), images.device
        angle = _between(count, math.radians(self.turn), device)
        zoom = 1 + _between(count, self.scale, device)
        cos, sin = angle.cos() * zoom, angle.sin() * zoom
        shift_x, shift_y = _between(count, 2 * self.shift, device), _between(count, 2 * self.shift, device)
        rows = torch.stack([cos, -sin, shift_x, sin, cos, shift_y], dim=1).view(count, 2, 3)
        planes = images.permute(0, 3, 1, 2).float().div_(255)
        grid = functional.affine_grid(rows, list(planes.shape), align_corners=False)
        return functional.grid_sample(planes, grid, padding_mode="border", align_corners=False)


@dataclass(frozen=True)
class CropAndFlip:
    """Random crops of the image with reflected borders, and mirror images for one half: the usual one of photographs.

    `border` is the width of the borders as a share of the side.
    """

    border: float = 0.125

    def __call__(self, images: Tensor) -> Tensor:
        count, height, width, _ = images.shape
        rows = _crop(count, height, round(self.border * height), images.device)
        columns = _crop(count, width, round(self.border * width), images.device)
        mirrored = torch.rand(count, 1, device=images.device) < 0.5
        columns = torch.where(mirrored, columns.flip(1), columns)
        each = torch.arange(count, device=images.device).view(-1, 1, 1)
        chosen = images[each, rows.unsqueeze(2), columns.unsqueeze(1)]
        return chosen.permute(0, 3, 1, 2).float().div_(255)


def _crop(count: int, side: int, border: int, device: torch.device) -> Tensor:
    """Return, for each image, the places (n, side) of a crop that begins up to `border` before or after the image."""
    first = torch.randint(-border, border + 1, (count, 1), device=device)
    places = (torch.arange(side, device=device) + first).abs()
    return torch.where(places < side, places, 2 * (side - 1) - places)


def _between(count: int, limit: float, device: torch.device) -> Tensor:
    """Return uniform draws (count,) from -limit to limit."""
    return (2 * torch.rand(count, device=device) - 1) * limit
