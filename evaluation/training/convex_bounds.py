"""Bounds of a network's answers to all images near one: the convex outer polytope of Wong and Kolter 2018.

Each ReLU whose input may have both signs is replaced by the convex hull of its graph. The dual of the linear programme
that remains has a feasible solution in closed form (their theorem 1): one pass backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class _Hull:
    """Bounds of the ReLU of some inputs: slope * input below, and intercept more above."""

    slope: Tensor
    intercept: Tensor

    @classmethod
    def of(cls, low: Tensor, high: Tensor) -> _Hull:
        """Return the hull for inputs in [low, high]."""
        both = (low < 0) & (high > 0)
        slope = torch.where(both, high / torch.where(both, high - low, 1.0), (low >= 0).float())
        return cls(slope, torch.where(both, -slope * low, 0.0))


def worst_margins(network: nn.Sequential, images: Tensor, labels: Tensor, radius: float) -> Tensor:
    """Return lower bounds (n, classes) of the logit of the label less each logit, over all changes within the radius.

    The network consists of Conv2d without padding, Flatten, Linear and ReLU, and ends with Linear; each value of the
    images (n, c, h, w) changes by at most `radius`. Without a ReLU the bounds are exact.
    """
    *inner, last = network
    if not isinstance(last, nn.Linear):
        raise TypeError("the network does not end with Linear")
    hulls: list[_Hull] = []
    for place, layer in enumerate(inner):
        if isinstance(layer, nn.ReLU):
            before = inner[:place]
            low, high = _every(before, hulls, images, radius) if hulls else _interval(before, images, radius)
            hulls.append(_Hull.of(low, high))
    chosen = torch.eye(last.out_features, device=images.device)
    return _extremes([*inner, last], hulls, images, radius, chosen[labels][:, None] - chosen)[0]


def _interval(layers: Sequence[nn.Module], images: Tensor, radius: float) -> tuple[Tensor, Tensor]:
    """Return the least and the greatest values of what linear layers answer, each with its own worst change."""
    centre, reach = images, torch.full_like(images, radius)
    for layer in layers:
        centre = layer(centre)
        if isinstance(layer, nn.Conv2d):
            reach = functional.conv2d(reach, layer.weight.abs(), stride=layer.stride)
        elif isinstance(layer, nn.Linear):
            reach = functional.linear(reach, layer.weight.abs())
        else:
            reach = layer(reach)
    return centre - reach, centre + reach


def _every(layers: Sequence[nn.Module], hulls: Sequence[_Hull], images: Tensor, radius: float) -> tuple[Tensor, Tensor]:
    """Return bounds of each value that the layers answer."""
    last = layers[-1]
    if not isinstance(last, nn.Linear):
        raise TypeError("a layer between two ReLUs is not Linear")
    values = last.out_features
    each = torch.eye(values, device=images.device).expand(len(images), values, values)
    return _extremes(layers, hulls, images, radius, each)


def _extremes(
    layers: Sequence[nn.Module], hulls: Sequence[_Hull], images: Tensor, radius: float, weights: Tensor
) -> tuple[Tensor, Tensor]:
    """Return a lower and an upper bound of each sum of what the layers answer, weighed by `weights` (n, k, values)."""
    fixed = torch.zeros(weights.shape[:2], device=images.device)
    below, above, left = fixed, fixed, list(hulls)
    for layer in reversed(layers):
        if isinstance(layer, nn.ReLU):
            hull = left.pop()
            gaps = hull.intercept[:, None]
            below = below + (weights.clamp(max=0) * gaps).flatten(2).sum(2)
            above = above + (weights.clamp(min=0) * gaps).flatten(2).sum(2)
            weights = weights * hull.slope[:, None]
        elif isinstance(layer, nn.Linear):
            fixed = fixed + weights @ layer.bias
            weights = weights @ layer.weight
        elif isinstance(layer, nn.Conv2d):
            fixed = fixed + torch.einsum("nkchw,c->nk", weights, layer.bias)
            back = functional.conv_transpose2d(weights.flatten(0, 1), layer.weight, stride=layer.stride)
            weights = back.view(*weights.shape[:2], *back.shape[1:])
        else:  # Flatten
            shape = left[-1].slope.shape[1:] if left else images.shape[1:]
            weights = weights.view(*weights.shape[:2], *shape)
    centre = fixed + torch.einsum("nkchw,nchw->nk", weights, images)
    reach = radius * weights.abs().flatten(2).sum(2)
    return centre + below - reach, centre + above + reach
