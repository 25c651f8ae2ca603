from __future__ import annotations

import math

import numpy as np
import pytest

from evaluation.formats.curves.scoring.curves import (
    accuracy_by_budget,
    accuracy_by_strength,
    median_distance,
    success_by_budget,
    success_by_strength,
)
from evaluation.formats.curves.threat_models import Goal
from tests.evaluation.formats.curves.results_of import results_of

BUDGETS = np.array([0.0, 0.1, 0.2, 1.0])


def test_accuracy_begins_at_the_clean_accuracy_and_counts_an_image_until_its_distance() -> None:
    results = results_of([0.0, 0.1, 0.15, math.inf], right=[False, True, True, True])
    assert accuracy_by_budget(results, BUDGETS).tolist() == [0.75, 0.5, 0.25, 0.25]


def test_untargeted_success_is_of_the_images_that_are_right_without_an_attack() -> None:
    results = results_of([0.0, 0.1, 0.15, math.inf], right=[False, True, True, True])
    assert success_by_budget(results, BUDGETS) == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3])


def test_targeted_success_is_of_all_images_and_accuracy_leaves_out_the_wrong_ones() -> None:
    results = results_of([0.0, 0.3, 0.15, math.inf], right=[False, False, True, True], goal=Goal.TARGETED)
    assert success_by_budget(results, BUDGETS).tolist() == [0.25, 0.25, 0.5, 0.75]
    assert accuracy_by_budget(results, BUDGETS).tolist() == [0.5, 0.5, 0.25, 0.25]


def test_by_strength_only_adversarials_within_the_fixed_budget_count() -> None:
    results = results_of([0.05] * 3, traces=[[0.3, 0.1], [0.05, 0.05], [math.inf, 0.2]])
    assert accuracy_by_strength(results) == pytest.approx([2 / 3, 1 / 3])
    assert success_by_strength(results) == pytest.approx([1 / 3, 2 / 3])


def test_the_median_is_infinite_if_most_images_withstand() -> None:
    assert median_distance(results_of([0.1, 0.2, 0.3])) == 0.2
    assert median_distance(results_of([0.1, math.inf, math.inf])) == math.inf
