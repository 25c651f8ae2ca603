"""Distances between images: L2 over pixels / 255 in float64 (Brendel et al. 2020, eq. 1, in their code's units)."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.images import GREY, Image, Images

Distances: TypeAlias = NDArray[np.float64]


def l2(first: Image, second: Image) -> float:
    """Return the L2 distance (eq. 1) of two uint8 images of one shape; 0 to sqrt(h * w * c)."""
    return float(l2_each(first[np.newaxis], second[np.newaxis])[0])


def l2_each(first: Images, second: Images) -> Distances:
    """Return the distances (eq. 1) of n pairs of images, (n, h, w, c) each, as (n,).

    The squares are summed as integers, so the order of summation cannot change the result.
    """
    if first.dtype != np.uint8 or second.dtype != np.uint8:
        raise ValueError(f"distances are defined on uint8 images, not on {first.dtype} and {second.dtype}")
    if first.shape != second.shape:
        raise ValueError(f"images of shapes {first.shape} and {second.shape} have no distance")
    differences = (first.astype(np.int64) - second).reshape(len(first), -1)
    sums: Distances = np.square(differences).sum(axis=1).astype(np.float64)
    return np.sqrt(sums) / 255


def worst_case(clean: Image) -> float:
    """Return the distance to the uniform grey image (Brendel et al. 2020, section 4.2), the cap of every distance."""
    return l2(clean, np.full_like(clean, GREY))
