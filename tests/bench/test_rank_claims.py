from __future__ import annotations

import numpy as np

from bench.rank_claims import claims, judge
from evaluation.domain.players import Side

# three models whose distances do not overlap, on forty samples
FAR_APART = [np.linspace(low, low + 1, 40)[None] for low in (30.0, 20.0, 10.0)]


def test_a_board_follows_from_its_number_and_separates_some_of_its_players() -> None:
    board = claims("tight", Side.ATTACK, 7, 0)
    assert board == claims("tight", Side.ATTACK, 7, 0)
    assert board != claims("tight", Side.ATTACK, 7, 1)
    assert 0 < board.apart <= 1
    assert 1 <= board.width < 10


def test_a_correct_separation_is_not_a_false_claim() -> None:
    found = judge(Side.MODEL, FAR_APART, [30.5, 20.5, 10.5])
    assert (found.apart, found.apart_overlap, found.false, found.false_overlap) == (1, 1, 0, 0)
    assert (found.inside, found.width) == (1, 1)


def test_the_wrong_way_round_is_a_false_claim() -> None:
    found = judge(Side.MODEL, FAR_APART, [20.5, 30.5, 10.5])
    assert (found.false, found.false_overlap, found.inside) == (1, 1, 0)


def test_every_claim_on_a_board_of_equals_is_false() -> None:
    found = judge(Side.ATTACK, FAR_APART, [0.0, 0.0, 0.0])
    assert (found.false, found.false_overlap, found.inside) == (1, 1, 0)
    same = judge(Side.ATTACK, [FAR_APART[0]] * 3, [0.0, 0.0, 0.0])
    assert (same.false, same.false_overlap, same.inside, same.apart, same.width) == (0, 0, 1, 0, 3)
