from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluation.formats.query.tournament.halving import Halving
from evaluation.formats.query.tournament.ladder import Ladder
from evaluation.formats.query.tournament.ladder_2 import Ladder2
from evaluation.formats.query.tournament.schedule_names import schedule_named
from evaluation.formats.query.tournament.schedule_output import Schedule, most_triples

SCHEDULES = {"halving": Halving(), "ladder-2": Ladder2(), "ladder": Ladder(), "ladder with guard": Ladder(guard=True)}


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    """Draw arguments of `make_field` and distances with many ties: small and odd sides, teams, given models."""
    models, attacks = draw(st.integers(1, 26)), draw(st.integers(1, 26))
    samples = draw(st.integers(1, 24))
    random = np.random.default_rng(draw(st.integers(0, 999)))
    teams = draw(st.sampled_from([1, 3, 1000]))
    distances = random.integers(0, draw(st.sampled_from([1, 4, 10**6])), (models, attacks, samples)) / 7
    return {
        "distances": distances + np.arange(models)[:, None, None] * draw(st.sampled_from([0, 0.3])),
        "model_prior": random.permutation(models).tolist(),
        "attack_prior": random.permutation(attacks).tolist(),
        "model_teams": random.integers(0, teams, models).tolist(),
        "attack_teams": random.integers(0, teams, attacks).tolist(),
        "models_given": draw(st.booleans()),
        "seed": draw(st.integers(0, 999)),
    }


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(world=worlds())
def test_a_plan_places_everybody_within_its_bound_whatever_arrives_first(
    make_field: Any, play_out: Any, schedule: Schedule, world: dict[str, Any]
) -> None:
    distances, seed = world.pop("distances"), world.pop("seed")
    field = make_field(distances.shape, **world)
    plan, played = play_out(schedule, field, distances, seed)

    # the order of arrival decides nothing, nor do results that were not demanded
    assert play_out(schedule, field, distances, seed + 1)[0] == plan
    assert schedule.plan(field, np.where(np.isnan(played), 1e9, played)) == plan

    count = int(np.count_nonzero(~np.isnan(played)))
    assert count <= most_triples(schedule.ceilings(*distances.shape, models_given=field.models_given))
    assert {stage.samples for stage in plan.stages} <= set(schedule.samples_of_stages(field.samples))
    assert sorted(plan.result.models) == sorted(one.name for one in field.models)
    assert sorted(plan.result.attacks) == sorted(one.name for one in field.attacks)
    assert len(plan.stages[-1].decisions) <= 26 + (len(field.models) if field.models_given else 0)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_the_order_of_entry_alone_settles_what_is_equal(make_field: Any, schedule: Schedule) -> None:
    """Positions of players have no other effect: another order of entry gives the same places where values differ."""
    random = np.random.default_rng(8)
    distances = random.random((24, 22, 60))
    field = make_field(distances.shape)
    plan = schedule.plan(field, distances)
    assert plan.result is not None
    models, attacks = random.permutation(24), random.permutation(22)
    other = make_field(distances.shape, np.argsort(models).tolist(), np.argsort(attacks).tolist())
    moved = schedule.plan(other, distances[np.ix_(models, attacks)])
    assert moved.result is not None
    assert [f"m{models[int(name[1:])]}" for name in moved.result.models] == list(plan.result.models)
    assert [f"a{attacks[int(name[1:])]}" for name in moved.result.attacks] == list(plan.result.attacks)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_an_attack_that_no_model_of_another_team_scores_comes_last(make_field: Any, schedule: Schedule) -> None:
    field = make_field((2, 3, 5), model_teams=[1, 1], attack_teams=[1, 2, 3])
    distances = np.ones((2, 3, 5))
    plan = schedule.plan(field, distances)
    assert plan.result is not None
    assert plan.result.attacks == ("a1", "a2", "a0")
    assert [one.value for one in plan.stages[-1].decisions] == [1.0, 1.0, 1.0, 1.0, None]


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_owning_the_best_attack_wins_a_model_nothing(make_field: Any, schedule: Schedule) -> None:
    """A model meets its own team's attack like all others, and keeps the place that it would have without it."""
    random = np.random.default_rng(4)
    distances = random.lognormal(size=(12, 11, 40)) * np.linspace(1, 2, 11)[None, :, None]
    alone = schedule.plan(make_field(distances.shape), distances)
    assert alone.result is not None
    best = int(alone.result.attacks[0][1:])
    for model in range(12):
        model_teams = [1 if one == model else 20 + one for one in range(12)]
        attack_teams = [1 if one == best else 40 + one for one in range(11)]
        field = make_field(distances.shape, model_teams=model_teams, attack_teams=attack_teams)
        owned = schedule.plan(field, distances)
        assert owned.result is not None
        if owned.stages[-1].counted_attacks == alone.stages[-1].counted_attacks:
            assert owned.result.models == alone.result.models


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_in_a_field_of_one_team_attacks_stand_in_the_order_of_entry(make_field: Any, schedule: Schedule) -> None:
    field = make_field((2, 12, 5), model_teams=[1] * 2, attack_teams=[1] * 12)
    plan = schedule.plan(field, np.ones((2, 12, 5)))
    assert plan.result is not None
    assert plan.result.attacks == tuple(f"a{number}" for number in range(12))


def test_they_have_names() -> None:
    assert schedule_named("ladder-2") == Ladder2()
    assert schedule_named("ladder") == Ladder()
    assert schedule_named("ladder", guard=True) == Ladder(guard=True)
    assert schedule_named("halving") == Halving()


@pytest.mark.parametrize(
    ("name", "guard", "message"),
    [("swiss", False, "choose ladder-2, halving or ladder"), ("halving", True, "guard"), ("ladder-2", True, "guard")],
)
def test_it_rejects_what_does_not_exist(name: str, guard: bool, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        schedule_named(name, guard=guard)
