"""Distances of proofs, what lowers the best known ones, and the optimality of attacks."""

from __future__ import annotations

import numpy as np

from evaluation.formats.curves.proofs.distances import distances_of, lower, optimality
from evaluation.formats.curves.threat_models import Norm

INF = np.inf


def test_distances_are_of_images_with_values_from_0_to_1() -> None:
    clean = np.zeros((2, 1, 2, 1), np.uint8)
    changed = np.array([[[[3], [4]]], [[[255], [0]]]], np.uint8)
    found = distances_of(clean, changed)
    assert found[Norm.L2].tolist() == [5 / 255, 1.0]
    assert found[Norm.LINF].tolist() == [4 / 255, 1.0]
    assert distances_of(changed, clean)[Norm.LINF].tolist() == [4 / 255, 1.0]


def test_a_distance_lowers_a_larger_one_but_not_its_rounding() -> None:
    best = np.array([1.0, 1.0, INF, 0.0, float(np.float32(0.1)), 5 / 255])
    found = lower(np.array([0.9, 1.0, 7.0, 0.0, 0.1, 4 / 255]), best)
    assert found.tolist() == [True, False, True, False, False, True]


def test_optimality_is_the_median_ratio_over_images_that_are_right_and_have_a_distance() -> None:
    best = np.array([0.0, 1.0, 2.0, 4.0, INF])
    assert optimality(np.array([0.0, 1.0, 4.0, 12.0, INF]), best) == 2.0
    assert optimality(np.array([0.0, INF, INF, 4.0, INF]), best) == INF
    assert optimality(np.array([0.0, INF]), np.array([0.0, INF])) is None
