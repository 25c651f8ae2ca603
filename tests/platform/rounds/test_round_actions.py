"""The actions on a round: their states, who may act, and their events."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import Team, User
from competitions.models import Competition, Entry
from core import object_store
from core.errors import Refusal
from core.models import Event
from formats.query.matches.models import Match
from formats.query.matches.services import replay_failed
from formats.query.rounds.round_advancement import advance_round
from formats.query.rounds.round_as_engine_values import facts_of, outcome_of
from rounds.models import Round, RoundEntry
from rounds.planning.entries import frozen
from rounds.planning.freeze import freeze
from rounds.publishing.licence_review import confirm_licence, refuse_licence
from rounds.publishing.publication import publish
from rounds.running import lifecycle

if TYPE_CHECKING:
    from tests.platform.rounds.conftest import RoundFixture

SEEDS = 'AS "match__seed"'
"""What the query for the seeds has, which only an outcome asks for."""

ACTS: dict[str, Callable[..., None]] = {
    "freeze": freeze,
    "start": lifecycle.start,
    "pause": lifecycle.pause,
    "resume": lifecycle.resume,
    "cancel": lifecycle.cancel,
    "publish": publish,
}
TAKEN = {
    "planned": {"freeze": "frozen", "cancel": "cancelled"},
    "frozen": {"start": "playing", "cancel": "cancelled"},
    "playing": {"pause": "paused", "cancel": "cancelled"},
    "paused": {"resume": "playing", "cancel": "cancelled"},
    "scored": {"publish": "published", "cancel": "cancelled"},
    "published": {},
    "cancelled": {},
}
NEXT = {
    "planned": "freeze it",
    "frozen": "start it",
    "playing": "wait until it is scored",
    "paused": "resume it",
    "scored": "check the preview",
    "published": "a correction is a new round",
    "cancelled": "plan another round",
}


def brought_to(env: RoundFixture, state: str) -> Round:
    """A round of two on each side in `state`."""
    env.field(2, 2)
    round_ = env.plan(samples=8)
    env.clock.at = round_.window.starts_at
    act: dict[str, Any] = {"round_": round_, "by": env.organiser}
    ways: dict[str, list[Callable[[], Any]]] = {
        "planned": [],
        "frozen": [lambda: freeze(**act)],
        "playing": [lambda: env.begin(round_)],
        "paused": [lambda: env.begin(round_), lambda: lifecycle.pause(**act)],
        "scored": [lambda: env.scored(round_)],
        "published": [lambda: env.scored(round_), lambda: publish(**act)],
        "cancelled": [lambda: lifecycle.cancel(**act, reason="a test")],
    }
    for step in ways[state]:
        step()
    round_.refresh_from_db()
    assert round_.state == state
    return round_


@pytest.mark.parametrize("state", TAKEN)
def test_each_action_is_accepted_only_in_its_state_and_of_organisers(
    env: RoundFixture, alice: User, state: str
) -> None:
    round_ = brought_to(env, state)
    for name, act in ACTS.items():
        taken = name in TAKEN[state]
        words = "only organisers" if taken else f"is {state} and cannot be"
        with pytest.raises(Refusal, match=words) as refusal:
            act(round_=round_, by=alice if taken else env.organiser, reason="a test")
        assert taken or NEXT[state] in refusal.value.fix, name
        round_.refresh_from_db()
        assert round_.state == state, name


@pytest.mark.parametrize("state", [state for state, acts in TAKEN.items() if acts])
def test_each_action_changes_the_state_with_an_event_and_start_and_resume_notify(
    env: RoundFixture, notifications: list[str], state: str
) -> None:
    round_ = brought_to(env, state)
    env.clock.forward(minutes=1)
    for name in TAKEN[state]:
        notifications.clear()
        with transaction.atomic():
            ACTS[name](round_=round_, by=env.organiser, reason="for the log")
            assert (round_.state, round_.state_since) == (TAKEN[state][name], env.clock.at)
            event = Event.objects.filter(subject=f"round:{round_.pk}", verb=name).latest("pk")
            assert (event.by, event.reason) == (env.organiser, "for the log")
            assert ("rounds.advance" in notifications) == (name in {"start", "resume"}), name
            transaction.set_rollback(True)
        round_.refresh_from_db()


def test_a_match_replayed_while_the_round_is_paused_waits_for_it(env: RoundFixture) -> None:
    """Also if it is the only remaining one."""
    round_ = brought_to(env, "playing")
    advance_round(round_)
    Match.objects.update(state="played")
    failed = Match.objects.latest("pk")
    failed.pieces.update(state="failed")
    Match.objects.filter(pk=failed.pk).update(state="failed", fault="the disk is full")
    lifecycle.pause(round_=round_, by=env.organiser)
    replay_failed(failed, env.organiser, "fixed")
    assert env.play() == 0
    lifecycle.resume(round_=round_, by=env.organiser)
    assert env.play() == 1


def test_it_rejects_a_cancellation_without_a_reason(env: RoundFixture) -> None:
    with pytest.raises(Refusal, match="needs a reason"):
        lifecycle.cancel(round_=env.plan(), by=env.organiser, reason=" ")


@pytest.fixture
def entry(env: RoundFixture) -> RoundEntry:
    """An entry of a final with an unknown licence."""
    env.field(1, 2)
    env.submission("owls", "model", 1, licence="LicenseRef-owls")
    round_ = env.begin(env.plan("final", samples=8))
    return round_.entries.get(submission__title="owls 1")


def test_a_licence_is_confirmed_and_refused_by_organisers(env: RoundFixture, entry: RoundEntry) -> None:
    confirm_licence(entries=[entry], by=env.organiser, reason="the text is the MIT licence")
    assert (entry.eligible, entry.ineligible_because) == (True, "")
    assert entry.licence_confirmed_at is not None
    with pytest.raises(Refusal, match="already eligible"):
        confirm_licence(entries=[entry], by=env.organiser, reason="once more")
    refuse_licence(entries=[entry], by=env.organiser, reason="weights are not free")
    assert (entry.eligible, entry.ineligible_because) == (False, "its licence was refused: weights are not free")
    assert entry.licence_confirmed_at is None
    events = Event.objects.filter(verb__endswith="_licence").order_by("pk").values_list("verb", "by", "data__entry")
    assert list(events) == [(verb, env.organiser.pk, entry.pk) for verb in ("confirm_licence", "refuse_licence")]


def test_a_licence_judged_after_the_end_is_in_the_outcome(env: RoundFixture, entry: RoundEntry) -> None:
    before = env.run(entry.round).outcome
    confirm_licence(entries=[entry], by=env.organiser, reason="the text is the MIT licence")
    entry.round.refresh_from_db()
    assert entry.round.outcome != before
    assert (
        object_store.get(entry.round.outcome).count(b'"eligible":true')
        == object_store.get(before).count(b'"eligible":true') + 1
    )


def test_an_outcome_made_again_is_the_same_whatever_was_renamed(env: RoundFixture, entry: RoundEntry) -> None:
    before = env.run(entry.round).outcome
    Competition.objects.update(title="Another title", summary="Other words.")
    Team.objects.filter(slug="owls").update(name="Renamed")
    round_ = Round.objects.get(pk=entry.round_id)
    assert object_store.put_open(outcome_of(round_, facts_of(round_), frozen(round_))) == before


def test_licences_judged_together_after_the_end_make_one_outcome_before_the_lock(
    env: RoundFixture, entry: RoundEntry
) -> None:
    round_ = env.run(entry.round)
    RoundEntry.objects.filter(round=round_).update(eligible=False)
    with CaptureQueriesContext(connection) as queries:
        confirm_licence(entries=list(round_.entries.all()), by=env.organiser, reason="I have read them all")
    said = [query["sql"] for query in queries]
    reads = [number for number, sql in enumerate(said) if 'FROM "matches_sampleresult"' in sql]
    assert len(reads) == 1
    assert reads[0] < next(number for number, sql in enumerate(said) if sql.startswith("SAVEPOINT"))
    round_.refresh_from_db()
    assert object_store.get(round_.outcome).count(b'"eligible":true') == 4


def test_a_licence_judged_while_the_outcome_is_made_is_in_it(env: RoundFixture, entry: RoundEntry) -> None:
    advance_round(entry.round)
    env.play()
    judged: list[str] = []

    def meanwhile(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if SEEDS in sql and not judged:
            judged.append(sql)
            assert not any(sql.startswith("SAVEPOINT") for sql in said())  # nothing is locked meanwhile
            confirm_licence(entries=[entry], by=env.organiser, reason="the text is the MIT licence")
        return execute(sql, *rest)

    def said() -> list[str]:
        return [query["sql"] for query in queries]

    with CaptureQueriesContext(connection) as queries, connection.execute_wrapper(meanwhile):
        advance_round(entry.round)
    entry.round.refresh_from_db()
    assert (len(judged), entry.round.state) == (1, "playing")
    round_ = env.run(entry.round)
    assert object_store.get(round_.outcome).count(b'"eligible":true') == 4


def test_it_rejects_licences_of_several_rounds_and_judges_all_or_none(env: RoundFixture, entry: RoundEntry) -> None:
    other = env.plan(samples=8, day=1)
    known = entry.round.entries.exclude(pk=entry.pk)[0]
    elsewhere = RoundEntry.objects.create(
        round=other, track=entry.track, submission=entry.submission, player=entry.player, order=1, prior=1
    )
    for entries, words in (([entry, elsewhere], "to several rounds"), ([entry, known], "already eligible")):
        with pytest.raises(Refusal, match=words):
            confirm_licence(entries=entries, by=env.organiser, reason="I have read them")
    assert not RoundEntry.objects.get(pk=entry.pk).eligible


def test_it_rejects_invalid_licence_reviews(env: RoundFixture, entry: RoundEntry, alice: User) -> None:
    with pytest.raises(Refusal, match="only organisers"):
        confirm_licence(entries=[entry], by=alice, reason="it is mine")
    with pytest.raises(Refusal, match="needs a reason"):
        confirm_licence(entries=[entry], by=env.organiser, reason="")
    Entry.objects.filter(team__slug="owls").update(ineligible_for_prizes=True)
    entry.refresh_from_db()
    with pytest.raises(Refusal, match="without prizes"):
        confirm_licence(entries=[RoundEntry.objects.get(pk=entry.pk)], by=env.organiser, reason="it is free")


def test_a_team_that_is_found_to_take_part_without_prizes_after_the_freeze_loses_them(
    env: RoundFixture, entry: RoundEntry
) -> None:
    """The flag of its entry changes no frozen round, so organisers refuse the entries of the round."""
    known = entry.round.entries.filter(eligible=True)[0]
    Entry.objects.filter(pk=known.submission.repository.entry_id).update(ineligible_for_prizes=True)
    refuse_licence(entries=[known], by=env.organiser, reason="the team belongs to an organiser")
    assert (known.eligible, known.ineligible_because) == (False, "the team takes part without prizes")
    with pytest.raises(Refusal, match="without prizes"):
        confirm_licence(entries=[RoundEntry.objects.get(pk=known.pk)], by=env.organiser, reason="it is free")


def test_it_rejects_a_licence_once_the_round_is_published(env: RoundFixture, entry: RoundEntry) -> None:
    env.run(entry.round)
    publish(round_=entry.round, by=env.organiser)
    with pytest.raises(Refusal, match="is published and cannot be changed by a licence review"):
        confirm_licence(entries=[entry], by=env.organiser, reason="too late")
