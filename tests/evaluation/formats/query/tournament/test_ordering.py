from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from evaluation.domain.players import Side
from evaluation.formats.query.scoring.scores_v1 import attack_score, model_score
from evaluation.formats.query.tournament.ordering import ranked
from evaluation.formats.query.tournament.schedule_output import OrderedBy

NONE = math.nan


def test_players_are_ordered_by_mean_rank_or_by_median() -> None:
    # (players, opponents, samples)
    seen = np.array([[[1.0, 5.0], [9.0, 6.0]], [[2.0, 2.0], [3.0, 9.0]], [[4.0, 7.0], [4.0, 5.0]]])
    # models, nearest per sample: 1 5, 2 2, 4 5. Ranks, largest first: 3 1.5, 2 3, 1 1.5. Means: 2.25, 2.5, 1.25
    by_rank = ranked(Side.MODEL, (0, 1, 2), seen, OrderedBy.MEAN_RANK)
    assert (by_rank.players, by_rank.values) == ((2, 0, 1), (1.25, 2.25, 2.5))
    # medians of the same: 3, 2, 4.5
    by_median = ranked(Side.MODEL, (0, 1, 2), seen, OrderedBy.MEDIAN)
    assert (by_median.players, by_median.values) == ((2, 0, 1), (4.5, 3.0, 2.0))
    # attacks, ranks of the four columns, smallest first: 1 2 3 2, 2 1 1 3, 3 3 2 1. Means: 2, 1.75, 2.25
    by_rank = ranked(Side.ATTACK, (0, 1, 2), seen, OrderedBy.MEAN_RANK)
    assert (by_rank.players, by_rank.values) == ((1, 0, 2), (1.75, 2.0, 2.25))
    # medians of 1 5 6 9, 2 2 3 9, 4 4 5 7
    by_median = ranked(Side.ATTACK, (0, 1, 2), seen, OrderedBy.MEDIAN)
    assert (by_median.players, by_median.values) == ((1, 2, 0), (2.5, 4.5, 5.5))


@pytest.mark.parametrize(
    ("side", "rows", "best_first"),
    [
        # equal medians: the mean settles, the larger for models, the smaller for attacks
        (Side.MODEL, [[1, 5, 6], [2, 5, 9]], (1, 0)),
        (Side.ATTACK, [[1, 5, 9], [2, 5, 6]], (1, 0)),
        # equal means, too: the earlier entry; the sums are exact, in whatever order they are taken
        (Side.ATTACK, [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], (0, 1)),
        (Side.MODEL, [[1e16, 3, 1], [1, 3, 1e16]], (0, 1)),
    ],
)
def test_ties(side: Side, rows: list[list[float]], best_first: tuple[int, ...]) -> None:
    seen = np.array(rows, dtype=float)[:, None, :]
    assert ranked(side, (0, 1), seen, OrderedBy.MEDIAN).players == best_first
    # in whatever order they stand in the table
    assert ranked(side, (1, 0), seen[::-1], OrderedBy.MEDIAN).players == best_first


def test_an_attack_is_measured_without_its_own_team() -> None:
    # opponent 0 does not count for attack 0, and nobody for attack 2
    seen = np.array([[[NONE, NONE], [4.0, 6.0]], [[1.0, 1.0], [5.0, 5.0]], [[NONE, NONE], [NONE, NONE]]])
    # ranks of attack 0: 1 and 2; of attack 1: 1 1 2 1
    order = ranked(Side.ATTACK, (0, 1, 2), seen, OrderedBy.MEAN_RANK)
    assert (order.players, order.values) == ((1, 0, 2), (1.25, 1.5, None))
    order = ranked(Side.MODEL, (0, 1, 2), seen, OrderedBy.MEDIAN)
    assert (order.players, order.values) == ((0, 1, 2), (5.0, 1.0, None))


@given(st_numpy.arrays(np.float64, st.tuples(*[st.integers(1, 5)] * 3), elements=st.sampled_from([0.0, 1.5, 2.0, 7.0])))
def test_the_median_is_the_score_of_the_boards(seen: np.ndarray[tuple[int, int, int], np.dtype[np.float64]]) -> None:
    for side, score in ((Side.MODEL, model_score), (Side.ATTACK, attack_score)):
        order = ranked(side, range(len(seen)), seen, OrderedBy.MEDIAN)
        assert order.values == tuple(score(seen[player]).value for player in order.players)
