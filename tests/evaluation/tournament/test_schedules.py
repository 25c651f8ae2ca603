from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluation.tournament.halving import Halving
from evaluation.tournament.ladder import Ladder
from evaluation.tournament.plan import Schedule
from evaluation.tournament.schedules import schedule_named

SCHEDULES = {"halving": Halving(), "ladder": Ladder(), "ladder with guard": Ladder(guard=True)}


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    """What `make_field` takes, and distances, many of them equal: small sides, odd sides, teams, given models."""
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
def test_it_works(make_field: Any, play_out: Any, schedule: Schedule, world: dict[str, Any]) -> None:
    distances, seed = world.pop("distances"), world.pop("seed")
    field = make_field(distances.shape, **world)
    plan, played = play_out(schedule, field, distances, seed)

    # the order of arrival decides nothing, nor do results that nobody asked for, those of own-team pairs among them
    assert play_out(schedule, field, distances, seed + 1)[0] == plan
    meets = field.meets()[:, :, None]
    assert schedule.plan(field, np.where(meets, distances, -1.0)) == plan
    assert schedule.plan(field, np.where(np.isnan(played), 1e9, played)) == plan

    count = int(np.count_nonzero(~np.isnan(played)))
    assert count <= schedule.ceiling(*distances.shape, models_given=field.models_given)
    assert {stage.samples for stage in plan.stages} <= set(schedule.samples_of_stages(field.samples))
    assert sorted(plan.result.models) == sorted(one.name for one in field.models)
    assert sorted(plan.result.attacks) == sorted(one.name for one in field.attacks)
    assert len(plan.stages[-1].decisions) <= 26 + (len(field.models) if field.models_given else 0)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_the_order_of_entry_alone_settles_what_is_equal(make_field: Any, schedule: Schedule) -> None:
    """The positions of players are no more than that: another order of entry gives the same places where all differ."""
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
def test_a_player_that_meets_nobody_comes_last(make_field: Any, schedule: Schedule) -> None:
    field = make_field((3, 2, 5), model_teams=[1, 2, 3], attack_teams=[1, 1])
    distances = np.ones((3, 2, 5))
    plan = schedule.plan(field, distances)
    assert plan.result is not None
    assert plan.result.models == ("m1", "m2", "m0")
    assert [one.value for one in plan.stages[-1].decisions] == [1.0, 1.0, None, 1.0, 1.0]


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_a_field_of_one_team_is_over_at_once(make_field: Any, schedule: Schedule) -> None:
    field = make_field((2, 12, 5), model_teams=[1] * 2, attack_teams=[1] * 12)
    plan = schedule.plan(field, np.full((2, 12, 5), np.nan))
    assert plan.result is not None
    assert plan.result.attacks == tuple(f"a{number}" for number in range(12))


def test_they_have_names() -> None:
    assert schedule_named("ladder") == Ladder()
    assert schedule_named("ladder", guard=True) == Ladder(guard=True)
    assert schedule_named("halving") == Halving()


@pytest.mark.parametrize(("name", "guard", "said"), [("swiss", False, "choose ladder or"), ("halving", True, "guard")])
def test_it_rejects_what_does_not_exist(name: str, guard: bool, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        schedule_named(name, guard=guard)
