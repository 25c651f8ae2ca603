"""Distances of proofs, and the rule by which they lower what is best known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evaluation.domain.images import Images
from evaluation.formats.curves.results import Booleans, Floats
from evaluation.formats.curves.threat_models import Norm

LEAST_GAIN = 1e-6
"""The share by which a distance must be smaller to count: attacks round theirs to single precision."""


def distances_of(clean: Images, changed: Images) -> Mapping[Norm, Floats]:
    """Return the distance of each of n images to its clean one in L-inf and L2, (n,) each.

    It is of images with values in [0, 1], and exact up to the last rounding: pixels are subtracted as whole numbers.
    """
    most, squares = np.zeros(len(clean), np.int64), np.zeros(len(clean), np.int64)
    for row in range(len(clean)):  # one at a time: eight bytes for each pixel of all would be too many
        change = np.abs(clean[row].astype(np.int64) - changed[row])
        most[row], squares[row] = change.max(), (change**2).sum()
    return {Norm.LINF: most / 255, Norm.L2: np.sqrt(squares) / 255}


def lower(distances: Floats, best: Floats) -> Booleans:
    """Return for which images a distance lowers the best known one, (n,)."""
    found: Booleans = distances < best * (1 - LEAST_GAIN)
    return found


def optimality(distances: Floats, best: Floats) -> float | None:
    """Return the median ratio of an attack's distances (n,) to the best known ones; None without any to compare.

    Only images with a best known distance count that are right without a change. Infinite: the attack found nothing for
    most of them.
    """
    known = (best > 0) & np.isfinite(best)
    return float(np.median(distances[known] / best[known])) if known.any() else None
