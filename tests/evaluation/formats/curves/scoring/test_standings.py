from __future__ import annotations

import numpy as np
import pytest

from evaluation.formats.curves.scoring.standings import GRID, budgets_of, standing_of


@pytest.mark.parametrize("steps", [4, 8, 16])
def test_a_distance_of_a_whole_step_is_within_the_budget_of_as_many_steps(steps: int) -> None:
    """The curve and the accuracy agree, also where a budget has more decimals than the curve."""
    right, budget = np.array([True, True]), steps / 255
    found = standing_of([(right, np.array([budget, 2 * budget]))], budget)
    assert found.accuracy == 0.5
    assert found.curve[9:11] == [1.0, found.accuracy]
    assert found.curve[19:21] == [0.5, 0.0]


@pytest.mark.parametrize("budget", [0.0001, 0.0314, 0.2, 1.0, 27.3])
def test_budgets_are_short_numbers(budget: float) -> None:
    assert budgets_of(budget) == [round(share * budget, 10) for share in GRID]
