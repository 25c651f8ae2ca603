from __future__ import annotations

import numpy as np

from bench.selection_claims import FIELDS, Shown, judge, shown_on
from evaluation.domain.players import Side

STRONG, WEAK = np.linspace(20.0, 21.0, 40)[None], np.linspace(10.0, 11.0, 40)[None]


def test_a_claim_is_false_where_the_shown_one_is_not_better() -> None:
    """The shown distances do not overlap, so every rule separates them."""
    pair = (Shown(STRONG, 0.5, 1), Shown(WEAK, 0.0, 1))
    found = judge(Side.MODEL, pair)
    assert (found.before.separated, found.before.false, found.wrong_by_score) == (1, 0, 0)
    lucky = judge(Side.MODEL, (Shown(STRONG, 0.0, 1), Shown(WEAK, 0.0, 1)))
    assert (lucky.before.separated, lucky.before.false, lucky.after.false) == (1, 1, 1)
    attacks = judge(Side.ATTACK, pair)
    assert (attacks.before.false, attacks.wrong_by_score) == (1, 1)


def test_equal_seeds_give_equal_boards() -> None:
    first, again, other = (shown_on(FIELDS["different"], Side.MODEL, (3, 1), (7, seed)) for seed in (0, 0, 1))
    assert [one.strength for one in first] == [one.strength for one in again]
    assert [one.strength for one in first] != [one.strength for one in other]


def test_the_best_of_150_is_seldom_called_better_than_an_equal_one() -> None:
    """Without the correction every second one is, with it at most one in twenty."""
    for side in Side:
        found = [judge(side, shown_on(FIELDS["equal"], side, (150, 1), (7, number))) for number in range(30)]
        assert sum(one.before.false for one in found) >= 10
        assert sum(one.after.false for one in found) <= 1
