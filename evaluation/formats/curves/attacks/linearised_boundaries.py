"""Linearised boundaries of classes, and the shortest steps to them within [0, 1] (Croce and Hein 2020, FAB)."""

from __future__ import annotations

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import dual_norms
from evaluation.formats.curves.models.classifier import Loss
from evaluation.formats.curves.threat_models import Norm

_MOST_STEPS = 50
"""Of Newton's method, which needs three to ten."""


def dual_lengths(normals: Tensor, norm: Norm) -> Tensor:
    """Return the lengths of normals (n, channels, height, width) in the dual norm, above 0, (n,)."""
    return dual_norms(normals, norm).clamp(min=torch.finfo(normals.dtype).tiny)


def difference(classes: Tensor, labels: Tensor) -> Loss:
    """Return by how much the logit of a class of each image is above the one of its label."""

    def of(logits: Tensor) -> Tensor:
        return (logits.gather(1, classes[:, None]) - logits.gather(1, labels[:, None]))[:, 0]

    return of


def steps_to_planes(images: Tensor, gaps: Tensor, normals: Tensor, norm: Norm) -> Tensor:
    """Return the shortest steps d with gap + <normal, d> = 0 for which image + d is in [0, 1], like `images`.

    Where no such step leads to the plane, every value goes as far towards it as it can; where the normal vanishes, none
    moves. The k-th value moves by min(t u_k, room_k), with u_k = 1 in Linf and |normal_k| in L2; t is the root of a
    concave function that is linear in pieces, so Newton's method from 0 reaches it from below.
    """
    towards = (normals * -gaps.sign()[:, None, None, None]).flatten(1)
    flat = images.flatten(1)
    room = torch.where(towards > 0, 1.0 - flat, flat)
    weight, gaps = towards.abs(), gaps.abs()
    unit = (weight > 0).to(weight.dtype) if norm is Norm.LINF else weight
    product = weight * unit
    t = torch.zeros_like(gaps)
    moves = torch.zeros_like(flat)
    for _ in range(_MOST_STEPS):
        missing = gaps - (weight * moves).sum(dim=1)
        slope = (product * (t[:, None] * unit < room)).sum(dim=1)
        # what is missing may also be the rounding of single precision
        going = (slope > 0) & (missing > 1e-6 * gaps)
        if not going.any():
            break
        t = torch.where(going, t + missing / slope.clamp(min=torch.finfo(slope.dtype).tiny), t)
        moves = torch.minimum(t[:, None] * unit, room)
    return (moves * towards.sign()).view_as(images)
