"""Accuracy and success rate by perturbation budget and by strength of the attack (Dong et al. 2020, section 4.1)."""

from __future__ import annotations

import numpy as np

from evaluation.formats.curves.results import Floats, Results
from evaluation.formats.curves.threat_models import Goal


def accuracy_by_budget(results: Results, budgets: Floats) -> Floats:
    """Return the share of all images that the model gets right within each budget, (b,).

    For the targeted goal an image that is wrong without an attack stays wrong.
    """
    return _accuracy(results, results.distances[:, None] <= budgets[None, :])


def accuracy_by_strength(results: Results) -> Floats:
    """Return the accuracy at the fixed budget after each strength of the results, (s,)."""
    return _accuracy(results, results.traces <= results.fixed_budget)


def success_by_budget(results: Results, budgets: Floats) -> Floats:
    """Return the success rate within each budget, (b,)."""
    return _success(results, results.distances[:, None] <= budgets[None, :])


def success_by_strength(results: Results) -> Floats:
    """Return the success rate at the fixed budget after each strength, (s,)."""
    return _success(results, results.traces <= results.fixed_budget)


def median_distance(results: Results) -> float:
    """Return the median over all images of the smallest distance (table 3); infinite if most have none."""
    return float(np.median(results.distances))


def _accuracy(results: Results, fell: np.ndarray) -> Floats:
    """Acc (section 4.1): an image that the attack turned into any wrong class is wrong."""
    right = results.right[:, None] & ~fell
    return np.asarray(right.mean(axis=0))


def _success(results: Results, fell: np.ndarray) -> Floats:
    """Asr (section 4.1): of the images that are right without an attack, or, for the targeted goal, of all."""
    if results.threat_model.goal is Goal.TARGETED:
        return np.asarray(fell.mean(axis=0))
    right = results.right
    return np.asarray(fell[right].mean(axis=0)) if right.any() else np.zeros(fell.shape[1])
