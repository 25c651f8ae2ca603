from __future__ import annotations

import numpy as np
import pytest

from evaluation.formats.query.tournament.counted_players import Counted, counted
from evaluation.formats.query.tournament.schedule_output import OrderedBy

LOOP = [
    [1, 18, 23, 15, 30, 12],
    [28, 7, 2, 10, 15, 18],
    [6, 5, 10, 18, 6, 21],
    [25, 11, 9, 14, 30, 14],
    [17, 4, 18, 6, 25, 10],
    [22, 15, 27, 24, 4, 8],
]
"""Models x attacks, one sample."""


def test_the_best_five_of_each_side_count_after_one_loop() -> None:
    # model m keeps 10 (m + 1) + a before attack a: model 0 and attack 5 are the worst whatever counts
    block = np.array([[[10.0 * (model + 1) + attack] for attack in range(6)] for model in range(6)])
    assert counted(block, range(6), range(6), OrderedBy.MEDIAN) == Counted((1, 2, 3, 4, 5), (0, 1, 2, 3, 4), 1)


def test_all_players_of_a_loop_count() -> None:
    # before all attacks the nearest are 1 2 5 9 4 4: model 0 is out; medians of the attacks over the other models are
    # 22 7 10 14 15 14: attack 0 is out. Before the others: 12 2 5 9 4 4: model 1 is out; medians 17 11 18 15 25 12:
    # attack 4 is out. Before those: 1 2 5 9 4 8: model 0 is out, and with it attack 0, as in the beginning.
    block = np.array(LOOP, dtype=float)[:, :, None]
    assert counted(block, range(6), range(6), OrderedBy.MEDIAN) == Counted((0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 4, 5), 2)


@pytest.mark.parametrize("by", OrderedBy)
def test_positions_name_the_players(by: OrderedBy) -> None:
    block = np.random.default_rng(4).random((7, 8, 3))
    here = counted(block, range(7), range(8), by)
    there = counted(block[::-1, ::-1], [16, 15, 14, 13, 12, 11, 10], [7, 6, 5, 4, 3, 2, 1, 0], by)
    assert there == Counted(tuple(model + 10 for model in here.models), here.attacks, here.loop)


@pytest.mark.parametrize(("models", "attacks"), [(1, 1), (4, 2), (5, 5)])
def test_small_sides_count_as_a_whole(models: int, attacks: int) -> None:
    block = np.ones((models, attacks, 2))
    found = counted(block, range(models), range(attacks), OrderedBy.MEAN_RANK)
    assert found == Counted(tuple(range(models)), tuple(range(attacks)), 1)
