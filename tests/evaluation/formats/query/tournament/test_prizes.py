"""Prizes: neighbours are compared on opponents that belong to neither's team."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.players import Side
from evaluation.formats.query.tournament.prize_order import prize_order
from evaluation.formats.query.tournament.schedule_output import OrderedBy, Stage


def last_stage(models: int, attacks: int) -> Stage:
    names = tuple(f"m{number}" for number in range(models)), tuple(f"a{number}" for number in range(attacks))
    return Stage(1, 4, OrderedBy.MEDIAN, *names, *names, 1, renewed=False, decisions=())


def per_pair(table: list[list[float]]) -> NDArray[np.float64]:
    """(models, attacks, 4), the same distance on every sample."""
    return np.array(table)[:, :, None] * np.ones(4)


def test_a_model_that_its_own_attack_spared_falls_behind_the_next(make_field: Any) -> None:
    # a0 is of m0's team and spares it; against a1 alone m1 is better
    field = make_field((3, 2, 4), model_teams=[1, 2, 3], attack_teams=[1])
    played = per_pair([[9.0, 5.0], [4.0, 6.0], [3.0, 3.0]])
    assert prize_order(Side.MODEL, field, last_stage(3, 2), played, ("m0", "m1", "m2")) == ("m1", "m0", "m2")


def test_without_common_teams_the_order_stays(make_field: Any) -> None:
    field = make_field((3, 2, 4))
    played = per_pair([[9.0, 5.0], [4.0, 6.0], [3.0, 3.0]])
    assert prize_order(Side.MODEL, field, last_stage(3, 2), played, ("m0", "m1", "m2")) == ("m0", "m1", "m2")


def test_an_attack_is_compared_on_models_that_both_are_scored_by(make_field: Any) -> None:
    # a0 is not scored by m0, the hard model; on m1 and m2 a1 is nearer
    field = make_field((3, 2, 4), model_teams=[1], attack_teams=[1, 2])
    played = per_pair([[20.0, 10.0], [3.0, 2.0], [3.0, 2.0]])
    assert prize_order(Side.ATTACK, field, last_stage(3, 2), played, ("a0", "a1")) == ("a1", "a0")


def test_nothing_is_compared_where_no_opponent_is_left(make_field: Any) -> None:
    field = make_field((2, 2, 4), model_teams=[1, 2], attack_teams=[1, 2])
    played = per_pair([[9.0, 1.0], [1.0, 9.0]])
    assert prize_order(Side.MODEL, field, last_stage(2, 2), played, ("m0", "m1")) == ("m0", "m1")


def test_a_player_moves_ahead_of_several(make_field: Any) -> None:
    # without a0, which is of the team of m0 and m1 both, m2 is the best
    field = make_field((3, 2, 4), model_teams=[1, 1, 2], attack_teams=[1])
    played = per_pair([[9.0, 5.0], [8.0, 5.0], [4.0, 6.0]])
    assert prize_order(Side.MODEL, field, last_stage(3, 2), played, ("m0", "m1", "m2")) == ("m2", "m0", "m1")
