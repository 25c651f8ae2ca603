from __future__ import annotations

import numpy as np
import pytest

from evaluation.domain.players import Side
from evaluation.formats.query.scoring.selection_effect import expected_largest, gain_by_luck


@pytest.mark.parametrize("count", [2, 5, 35, 150, 530])
def test_the_expected_largest_is_that_of_drawn_numbers(count: int) -> None:
    drawn = np.random.default_rng(count).standard_normal((20_000, count)).max(axis=1)
    assert expected_largest(count) == pytest.approx(drawn.mean(), abs=0.03)


def test_one_submission_gains_nothing() -> None:
    assert expected_largest(1) == 0
    assert gain_by_luck(Side.MODEL, 1, 200) == gain_by_luck(Side.ATTACK, 1, 200) == 0


def test_it_grows_with_submissions_and_falls_with_samples() -> None:
    for side in Side:
        gains = [gain_by_luck(side, count, 200) for count in (1, 2, 5, 35, 150, 530)]
        assert gains == sorted(gains)
        assert gain_by_luck(side, 35, 50) > 1.8 * gain_by_luck(side, 35, 200)


def test_no_attack_looks_better_than_perfect() -> None:
    assert gain_by_luck(Side.ATTACK, 10**6, 1) < 1


@pytest.mark.parametrize(("submissions", "samples"), [(0, 200), (5, 0)])
def test_it_rejects_none(submissions: int, samples: int) -> None:
    with pytest.raises(ValueError, match=f"{submissions} submissions on {samples} samples"):
        gain_by_luck(Side.MODEL, submissions, samples)
