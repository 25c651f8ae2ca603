from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from evaluation.domain.players import Side
from evaluation.formats.query.tournament.halving import Halving
from evaluation.formats.query.tournament.ladder_2 import Ladder2
from evaluation.formats.query.tournament.schedule_output import OrderedBy, StageCeiling, most_triples


def test_its_stages_keep_fewer_players_on_more_samples_at_the_price_of_its_ceilings(
    make_field: Any, play_out: Any
) -> None:
    random = np.random.default_rng(5)
    distances = random.lognormal(size=(60, 40, 30)) * np.linspace(1, 9, 60)[:, None, None]
    plan, played = play_out(Ladder2(), make_field(distances.shape), distances, 1)
    # of 60 models 45, 24 and 10 stay, of 40 attacks 28, 18 and 10
    assert [(len(one.models), len(one.attacks), one.samples) for one in dict.fromkeys(plan.demands)] == [
        (60, 40, 2),
        (45, 28, 5),
        (24, 18, 20),
        (10, 10, 30),
    ]
    assert [stage.ordered_by for stage in plan.stages] == [OrderedBy.MEAN_RANK] * 3 + [OrderedBy.MEDIAN]
    assert Ladder2().ceilings(60, 40, 30) == (
        StageCeiling(2, 2400, 2, 2400, 40), StageCeiling(5, 1260, 3, 0, 28), StageCeiling(20, 432, 15, 0, 18),
        StageCeiling(30, 100, 10, 0, 10),
    )  # fmt: skip
    assert np.count_nonzero(~np.isnan(played)) == most_triples(Ladder2().ceilings(60, 40, 30))
    assert all(set(later.panel_models) < set(stage.panel_models) for stage, later in pairwise(plan.stages))


def test_its_cost_for_a_hundred_is_two_fifths_of_halving() -> None:
    assert most_triples(Ladder2().ceilings(100, 100, 200)) == 60_200
    assert most_triples(Ladder2().ceilings(100, 100, 200)) < 0.4 * most_triples(Halving().ceilings(100, 100, 200))
    assert Ladder2().samples_of_stages(200) == (2, 5, 20, 200)
    assert Ladder2().samples_of_stages(4) == (2, 4)


@pytest.mark.parametrize(("models", "attacks"), [(10, 10), (3, 1)])
def test_a_small_field_has_one_stage(make_field: Any, models: int, attacks: int) -> None:
    plan = Ladder2().plan(make_field((models, attacks, 6)), np.ones((models, attacks, 6)))
    assert [stage.samples for stage in plan.stages] == [6]


def test_given_models_are_met_by_every_attack(make_field: Any) -> None:
    distances = np.broadcast_to(np.arange(1.0, 51.0)[None, :, None], (5, 50, 30))
    plan = Ladder2().plan(make_field((5, 50, 30), models_given=True), distances)
    assert [(len(one.attacks), one.samples) for one in plan.demands] == [(50, 2), (28, 5), (18, 20), (10, 30)]
    assert all(one.side is Side.ATTACK for stage in plan.stages for one in stage.decisions)


def test_the_seeding_decides_nothing(make_field: Any) -> None:
    """Three types beat each other in a cycle, and the leaderboards put one type behind the others."""
    random = np.random.default_rng(2)
    types = np.arange(60) % 3
    cycle = np.array([-0.7, 0.7, 0])[(types[:, None] - types) % 3]
    logs = cycle[:, :, None] + random.normal(0, 0.3, (60, 60, 20)) + random.normal(0, 0.2, (60, 1, 1))
    orders = [sorted(range(60), key=lambda one: types[one] == kind) for kind in range(3)]
    plans = [Ladder2().plan(make_field(logs.shape, order, order), np.exp(logs)) for order in orders]
    assert plans[0].result == plans[1].result == plans[2].result
    assert len({stage.decisions for plan in plans for stage in plan.stages}) == len(plans[0].stages)
