"""The standing of a model under one threat model: of each image the nearest adversarial of all attacks counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.formats.curves.results import Booleans, Floats

GRID = tuple(number / 10 for number in range(31))
"""The budgets of curves, in multiples of the fixed one."""

_DECIMALS = 10**10
_ROUNDING = 1e-3
"""More than double precision changes of a budget in units of the last decimal."""


@dataclass(frozen=True)
class ModelStanding:
    """The numbers of a model under one threat model; a median of None: most images have no adversarial."""

    accuracy: float
    clean_accuracy: float
    median_distance: float | None
    budgets: Sequence[float]
    curve: Sequence[float]
    """The accuracy within each of the budgets."""


def standing_of(attacks: Sequence[tuple[Booleans, Floats]], budget: float) -> ModelStanding:
    """Return what follows from all attacks: of each, whether images are right, and their distances, (n,) both."""
    right = np.logical_and.reduce([each for each, _ in attacks])
    distances = np.minimum.reduce([each for _, each in attacks])
    budgets, median = budgets_of(budget), float(np.median(distances))
    return ModelStanding(
        accuracy=float((right & (distances > budget)).mean()),
        clean_accuracy=float(right.mean()),
        median_distance=median if np.isfinite(median) else None,
        budgets=budgets,
        curve=curve_of(right, distances, budgets),
    )


def budgets_of(budget: float) -> list[float]:
    """Return the budgets of a curve around a fixed one, which is one of them.

    They are rounded up to ten decimals: a distance of 8/255 is within a budget of 8/255, as for the accuracy.
    """
    return [math.ceil(share * budget * _DECIMALS - _ROUNDING) / _DECIMALS for share in GRID]


def curve_of(right: Booleans, distances: Floats, budgets: Sequence[float]) -> list[float]:
    """Return the accuracy within each budget."""
    return [float((right & (distances > each)).mean()) for each in budgets]
