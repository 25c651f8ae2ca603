"""Planning a round: its window, its samples, and the commitment to them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection

from accounts.models import User
from competitions import sample_store
from competitions.models import SampleSet
from competitions.sample_store import commitment_to, sample_hashes, samples_of
from core import clock
from core.errors import Refusal
from core.models import Event
from evaluation.domain.samples import Sample
from evaluation.formats.query.bundle import size_check
from formats.query.rounds.round_advancement import advance_round
from rounds.models import Round
from rounds.planning import commitment_salts
from rounds.planning.freeze import freeze
from rounds.planning.plan import plan_round
from rounds.running import lifecycle
from tests.platform.formats.query.matches.whole_match import ensure_match

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.platform.rounds.conftest import RoundFixture


def plan_arguments(env: RoundFixture, **others: Any) -> dict[str, Any]:
    return {
        "competition": env.competition,
        "title": "Round 1",
        "kind": "development",
        "schedule": "ladder",
        "guard": False,
        "source": env.sources["test"],
        "samples": 16,
        "starts_at": clock.now() + timedelta(days=1),
        "ends_at": clock.now() + timedelta(days=3),
        "by": env.organiser,
    } | others


def test_a_planned_round_has_new_samples_and_commits_to_them_without_telling_its_salt(env: RoundFixture) -> None:
    round_ = plan_round(**plan_arguments(env, reason="as announced"))
    assert (round_.number, round_.state, round_.sample_set.count) == (1, "planned", 16)
    assert round_.sample_set.drawn_from == env.sources["test"]
    assert round_.sample_set.digest != env.sources["test"].digest
    assert round_.commitment == commitment_to(sample_hashes(round_.sample_set, round_.salt))
    assert (round_.window.starts_at, round_.window.ends_at) == (
        plan_arguments(env)["starts_at"],
        plan_arguments(env)["ends_at"],
    )
    event = Event.objects.get(verb="plan", subject=f"round:{round_.pk}")
    assert (event.by, event.reason) == (env.organiser, "as announced")
    assert round_.salt not in str(event.data)


def test_it_fixes_the_days_for_objections(env: RoundFixture) -> None:
    """They are those of the competition at the planning, or others."""
    env.competition.objection_days = 5
    first = plan_round(**plan_arguments(env))
    env.competition.objection_days = 9
    second = plan_round(**plan_arguments(env, source=env.sources["test-2"], objection_days=0, **later(9)))
    first.refresh_from_db()
    assert (first.objection_days, second.objection_days) == (5, 0)
    assert Event.objects.get(subject=f"round:{first.pk}", verb="plan").data["objection_days"] == 5


def later(days: int) -> dict[str, Any]:
    """Return a window of two days that begins after `days`."""
    return {"starts_at": clock.now() + timedelta(days=days), "ends_at": clock.now() + timedelta(days=days + 2)}


def test_each_round_has_a_number_and_a_salt_of_its_own(
    env: RoundFixture, monkeypatch: pytest.MonkeyPatch, site_salts: Callable[[], str]
) -> None:
    monkeypatch.setattr(commitment_salts, "new_salt", site_salts)
    first = plan_round(**plan_arguments(env))
    second = env.plan(source="test-2", day=9)
    assert (first.number, second.number) == (1, 2)
    assert len({first.salt, second.salt}) == 2


def test_the_salt_cannot_be_chosen_and_each_try_stays_listed(env: RoundFixture) -> None:
    with pytest.raises(TypeError, match="salt"):
        plan_round(**plan_arguments(env, salt="7" * 64))
    first = plan_round(**plan_arguments(env))
    lifecycle.cancel(round_=first, by=env.organiser, reason="I do not like the order.")
    plan_round(**plan_arguments(env))
    assert [(each.number, each.state) for each in Round.objects.order_by("pk")] == [(1, "cancelled"), (2, "planned")]


def test_an_imported_set_may_be_called_as_a_round_would_call_its_own(env: RoundFixture) -> None:
    SampleSet.objects.filter(pk=env.sources["test-2"].pk).update(name="round-1")
    assert plan_round(**plan_arguments(env)).sample_set.name == "round-1-2"


def test_a_cancelled_round_leaves_the_calendar_free(env: RoundFixture) -> None:
    first = env.plan()
    assert env.plan(source="test-2", day=1).state == "planned"
    with pytest.raises(Refusal, match="overlaps the freeze window"):
        env.plan(source="final", kind="final")
    lifecycle.cancel(round_=first, by=env.organiser, reason="another day")
    first.window.refresh_from_db()
    assert first.window.called_off_at == clock.now()
    assert env.plan(source="final", kind="final").state == "planned"


def test_an_equal_salt_draws_equal_samples(env: RoundFixture) -> None:
    first = env.plan()
    lifecycle.cancel(round_=first, by=env.organiser, reason="once more")
    again = env.plan()
    assert again.sample_set.digest == first.sample_set.digest


@pytest.mark.parametrize(
    ("others", "problem"),
    [
        ({"objection_days": -1}, "-1 is not a number of days for objections"),
        ({"objection_days": 91}, "91 is not a number of days for objections"),
        ({"title": "  "}, "a title of 1 to 120"),
        ({"title": "x" * 121}, "a title of 1 to 120"),
        ({"kind": "friendly"}, "is not a kind of round"),
        ({"schedule": "lottery"}, "is not a schedule"),
        ({"schedule": "halving", "guard": True}, "has no guarded cuts"),
        ({"kind": "final"}, "plays on samples for final"),
        ({"samples": 0}, "40 samples, not 0"),
        ({"samples": 41}, "40 samples, not 41"),
    ],
)
def test_it_rejects_invalid_plans(env: RoundFixture, others: dict[str, Any], problem: str) -> None:
    with pytest.raises(Refusal, match=problem) as refusal:
        plan_round(**plan_arguments(env, **others))
    assert refusal.value.fix
    assert not Round.objects.exists()
    assert not env.competition.freeze_windows.exists()


def test_it_rejects_samples_of_another_purpose(env: RoundFixture) -> None:
    with pytest.raises(Refusal, match="plays on samples for test"):
        plan_round(**plan_arguments(env, source=env.sources["final"]))


def test_it_rejects_a_draw_of_a_draw(env: RoundFixture) -> None:
    with pytest.raises(Refusal, match="is not an imported set"):
        plan_round(**plan_arguments(env, source=env.plan().sample_set))


def test_it_rejects_samples_of_another_round_until_that_is_cancelled(env: RoundFixture) -> None:
    first = env.plan(title="First")
    with pytest.raises(Refusal, match="already used by First"):
        plan_round(**plan_arguments(env))
    lifecycle.cancel(round_=first, by=env.organiser, reason="a slip")
    assert plan_round(**plan_arguments(env)).number == 2


def test_it_rejects_more_samples_than_a_bundle_holds(env: RoundFixture) -> None:
    env.sources["test"].count = 10_001
    with pytest.raises(Refusal, match="at most 10,000 samples, not 10,001"):
        plan_round(**plan_arguments(env, samples=10_001))


def test_it_rejects_a_round_that_could_not_be_verified_afterwards(
    env: RoundFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the players that there are when it is planned, and once more with those that it is frozen with."""
    monkeypatch.setattr(size_check, "MOST_TRIPLES", 4 * 4 * 16)
    env.field(4, 4)
    round_ = plan_round(**plan_arguments(env))
    env.submission("late", "model", 4)
    lifecycle.cancel(round_=round_, by=env.organiser, reason="once more")
    with pytest.raises(Refusal, match="5 models, 4 attacks and 16 samples are more than the 256 results") as refusal:
        plan_round(**plan_arguments(env))
    assert refusal.value.fix == "draw fewer samples"
    small = plan_round(**plan_arguments(env, samples=12))
    env.submission("later", "model", 5)
    env.clock.at = small.window.starts_at
    with pytest.raises(Refusal, match="6 models, 4 attacks and 12 samples"):
        freeze(round_=small, by=env.organiser)
    small.refresh_from_db()
    assert (small.state, small.entries.count()) == ("planned", 0)


def test_it_rejects_samples_that_were_ever_played(env: RoundFixture) -> None:
    env.field(1, 1)
    ensure_match(
        rules=env.competition.rules_versions.order_by("-version")[0],
        sample_set=env.sources["test"],
        model=env.player("model", 0),
        attack=env.player("untargeted", 0),
    )
    with pytest.raises(Refusal, match="no longer secret"):
        plan_round(**plan_arguments(env))


def test_it_rejects_the_samples_of_a_round_that_was_cancelled_after_it_played(env: RoundFixture) -> None:
    env.field(2, 2)
    round_ = env.begin(env.plan())
    advance_round(round_)
    lifecycle.cancel(round_=round_, by=env.organiser, reason="too late")
    with pytest.raises(Refusal, match="no longer secret"):
        plan_round(**plan_arguments(env))


@pytest.mark.django_db(transaction=True)
def test_images_are_read_outside_of_the_transaction(env: RoundFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = []

    def reading(sample_set: SampleSet) -> tuple[Sample, ...]:
        inside.append(connection.in_atomic_block)
        return samples_of(sample_set)

    monkeypatch.setattr(sample_store, "samples_of", reading)
    env.plan()
    assert set(inside) == {False}


def test_it_rejects_others_than_organisers(env: RoundFixture, alice: User) -> None:
    with pytest.raises(Refusal, match="only organisers"):
        plan_round(**plan_arguments(env, by=alice))
