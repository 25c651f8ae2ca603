from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from evaluation.domain.players import Side
from evaluation.formats.query.scoring.paired_test import paired_difference
from evaluation.formats.query.scoring.scores_v1 import Score, attack_score, model_score


def players(seed: int, *strengths: float, samples: int = 200, noise: float = 0.1) -> list[np.ndarray]:
    """Return (3 opponents, samples) for each strength; samples differ far more than players do."""
    rng = np.random.default_rng(seed)
    hardness = rng.normal(0, 0.6, samples)
    return [np.exp(hardness + strength + rng.normal(0, noise, (3, samples))) for strength in strengths]


@pytest.mark.parametrize(("side", "score"), [(Side.MODEL, model_score), (Side.ATTACK, attack_score)])
def test_a_player_that_is_better_by_far_is_separated_on_the_same_samples(
    side: Side, score: Callable[[np.ndarray], Score]
) -> None:
    newer, older = players(1, 0.2, 0.0)
    difference = paired_difference(newer, older, side)
    assert difference.value == score(newer).value - score(older).value > 0
    assert difference.low < difference.value < difference.high
    assert difference.separated


@pytest.mark.parametrize("side", list(Side))
def test_it_separates_scores_with_overlapping_intervals(side: Side) -> None:
    newer, older = players(2, 0.1, 0.0)
    scores = [(model_score if side is Side.MODEL else attack_score)(each) for each in (newer, older)]
    assert scores[0].low < scores[1].high, "the intervals overlap"
    assert paired_difference(newer, older, side).separated


def test_the_other_way_round_it_is_the_other_sign() -> None:
    newer, older = players(3, 0.1, 0.0)
    there, back = paired_difference(newer, older, Side.MODEL), paired_difference(older, newer, Side.MODEL)
    assert (back.value, back.separated) == (-there.value, there.separated)
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low))


def test_nothing_separates_a_player_from_itself() -> None:
    (player,) = players(4, 0.0)
    difference = paired_difference(player, player.copy(), Side.ATTACK)
    assert (difference.value, difference.low, difference.high, difference.separated) == (0.0, 0.0, 0.0, False)


def test_of_equals_about_one_in_twenty_is_separated() -> None:
    pairs = [players(seed, 0.0, 0.0, samples=100, noise=0.3) for seed in range(100)]
    separated = [paired_difference(newer, older, Side.MODEL).separated for newer, older in pairs]
    assert 1 <= sum(separated) <= 11


def test_it_rejects_other_samples() -> None:
    (player,) = players(5, 0.0)
    with pytest.raises(ValueError, match="the numbers of samples differ: 200 and 100"):
        paired_difference(player, player[:, :100], Side.MODEL)
