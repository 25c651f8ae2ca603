"""One step of a round: what it requests, what stops it, and that it can be repeated."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from competitions.models import Competition
from core.errors import Fault
from core.models import Event
from formats.query.matches import piece_queue
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.matches.piece_work import pieces
from formats.query.matches.services import replay_failed
from formats.query.rounds.models import Decision, RoundMatch
from formats.query.rounds.round_advancement import advance_round
from formats.query.rounds.round_as_engine_values import facts_of
from rounds import tasks
from rounds.models import Round, RoundEntry
from rounds.running import lifecycle
from tests.platform.claims import claim_piece

if TYPE_CHECKING:
    from tests.platform.rounds.conftest import RoundFixture


@pytest.fixture
def playing(env: RoundFixture) -> Round:
    """A running round of twelve models and three attacks, with a cut, and nothing requested yet."""
    env.field(12, 3)
    return env.begin(env.plan(samples=16, schedule="halving"))


@pytest.fixture
def small(env: RoundFixture) -> Round:
    """A running round of four on each side, which ends after one step."""
    env.field(4, 4)
    return env.begin(env.plan(samples=8))


def test_the_first_step_requests_only_the_samples_of_the_first_stage(env: RoundFixture, playing: Round) -> None:
    advance_round(playing)
    matches = Match.objects.filter(round_match__round=playing)
    assert matches.count() > 0
    assert set(matches.values_list("sample_set", "rules__version")) == {(playing.sample_set_id, 2)}
    # nothing beyond the first stage; pieces end where a stage or the sweep may end, for any size in the rules
    assert set(Piece.objects.values_list("first", "count")) == {(0, 8), (8, 2)}


def test_it_waits_while_anything_is_open_and_may_be_repeated(env: RoundFixture, playing: Round) -> None:
    advance_round(playing)
    asked = set(Piece.objects.values_list("match", "first"))
    for _ in range(3):
        advance_round(playing)
    claim = claim_piece(env.worker())
    assert claim is not None
    piece_queue.commit(claim, env.played(claim))
    tasks.sweep()
    assert set(Piece.objects.values_list("match", "first")) == asked
    assert not playing.stages.exists()


def test_a_step_takes_the_same_number_of_queries_however_many_play(env: RoundFixture) -> None:
    taken = []
    env.field(4, 4)
    for samples in ("test", "test-2"):
        round_ = env.begin(env.plan(samples=8, source=samples))
        with CaptureQueriesContext(connection) as queries:
            advance_round(round_)
        taken.append(len(queries))
        lifecycle.cancel(round_=round_, by=env.organiser, reason="only counted")
        for number in range(4, 6):  # SQLite writes no more than 999 values at once
            env.submission(f"mo-{number}", "model", number)
            env.submission(f"un-{number}", "untargeted", number)
    assert taken[0] == taken[1]


@pytest.mark.django_db(transaction=True)
def test_concurrent_processes_take_one_step(env: RoundFixture) -> None:
    env.field(11, 3)
    round_ = env.begin(env.plan(samples=16, schedule="halving"))

    def step(_: int) -> None:
        try:
            advance_round(round_)
        finally:
            connections.close_all()

    while not Round.objects.filter(pk=round_.pk, state="scored"):
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(step, range(4))) == [None] * 4
        env.play()
    assert Event.objects.filter(verb="score").count() == 1
    assert round_.stages.count() == 2
    assert RoundMatch.objects.count() == Match.objects.count()


def test_results_that_arrive_between_two_reads_are_left_for_later(env: RoundFixture, small: Round) -> None:
    seen: list[str] = []

    def meanwhile(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if 'FROM "matches_sampleresult"' in sql and not seen:
            seen.append(sql)
            advance_round(small)
            env.play()
        return execute(sql, *rest)

    with connection.execute_wrapper(meanwhile):
        facts = facts_of(small)
    assert (len(seen), facts.results) == (1, {})
    assert len(facts_of(small).results) == RoundMatch.objects.count() > 0


@pytest.fixture
def other(env: RoundFixture) -> Competition:
    """Another competition, so that two rounds can be under way."""
    now = env.clock.at
    dates = {"starts_at": now, "ends_at": now + timedelta(days=9), "created_at": now}
    return Competition.objects.create(slug="other", title="Other", **dates)


def test_an_unexpected_error_does_not_stop_other_rounds(env: RoundFixture, small: Round, other: Competition) -> None:
    behind = env.plan(samples=8, source="test-2", day=1)
    env.run(small)
    Round.objects.filter(pk=small.pk).update(competition=other, state="playing")
    SampleResult.objects.filter(pk__in=SampleResult.objects.values("pk")[:1]).update(outcome="unheard of")
    env.begin(behind)
    for _ in range(2):
        tasks.sweep()
    small.refresh_from_db()
    assert (small.state, small.problem) == ("playing", "platform error: KeyError: 'unheard of'")
    assert Event.objects.filter(verb="stop", subject=f"round:{small.pk}").count() == 1
    assert behind.round_matches.exists()


def test_an_unexpected_error_at_the_freeze_does_not_stop_other_rounds(
    env: RoundFixture, small: Round, other: Competition
) -> None:
    torn = env.plan(samples=8, source="test-2", day=1)
    Round.objects.filter(pk=small.pk).update(competition=other)
    entry = small.entries.all()[0]
    RoundEntry.objects.create(
        round=torn, track=entry.track, submission=entry.submission, player=entry.player, order=1, prior=1
    )
    env.clock.at = torn.window.starts_at
    tasks.sweep()
    torn.refresh_from_db()
    assert torn.state == "planned"
    assert torn.problem.startswith("platform error: IntegrityError: ")
    assert small.round_matches.exists()


def test_a_failed_match_stops_it_until_it_is_replayed(env: RoundFixture, small: Round) -> None:
    advance_round(small)
    worker, other = env.worker(), env.worker("arena-3/play/0")
    claim = claim_piece(worker)
    while claim is not None and claim.piece.faults < 2:
        pieces.release(claim, fault="no disk")
        env.clock.forward(minutes=5)
        claim = claim_piece(other, prefer=claim.piece.match)
    assert claim is not None
    pieces.release(claim, fault="no disk")
    env.play()
    for _ in range(3):
        tasks.advance_round()
    small.refresh_from_db()
    failed = claim.piece.match
    assert f"A platform error occurred in 1 of its matches: match {failed.pk}" in small.problem
    assert "no disk" in small.problem
    assert "then replay them" in small.problem
    assert not small.stages.exists()
    assert Event.objects.filter(verb="stop", subject=f"round:{small.pk}").count() == 1

    replay_failed(Match.objects.get(pk=failed.pk), env.organiser)
    env.worker("arena-2/play/0")
    tasks.advance_round()
    small.refresh_from_db()
    assert small.problem == ""
    env.run(small)
    assert small.state == "scored"


def test_a_piece_that_only_one_host_tried_is_a_problem_of_the_round(env: RoundFixture, small: Round) -> None:
    advance_round(small)
    worker = env.worker()
    held = claim_piece(worker)
    for _ in range(3):
        assert held is not None
        pieces.release(held, fault="no disk")
        env.clock.forward(minutes=30)
        held = claim_piece(worker, prefer=held.piece.match)
    assert held is not None
    pieces.release(held)
    advance_round(small)
    small.refresh_from_db()
    assert small.problem.startswith(f"{held.piece} failed several times, on one host or because of hosts.")
    pieces.retry_now(Piece.objects.get(pk=held.piece.pk), env.organiser, "the disk is empty")
    advance_round(small)
    small.refresh_from_db()
    assert "failed several times" not in small.problem


def test_a_round_that_no_live_worker_can_play_says_so_until_one_comes(env: RoundFixture, small: Round) -> None:
    def problem() -> str:
        for _ in range(3):
            tasks.sweep()
        small.refresh_from_db()
        return small.problem

    tasks.sweep()
    assert "No worker that plays was seen recently" in problem()
    env.worker()
    assert problem() == ""
    Match.objects.filter(pk=Match.objects.latest("pk").pk).update(needs_gpu=True)
    assert "No worker with a GPU was seen recently" in problem()
    env.worker("arena-1/play/1", "gpu")
    assert problem() == ""
    env.clock.forward(minutes=5)
    assert "No worker with a GPU was seen recently" in problem()
    assert Event.objects.filter(verb="stop", subject=f"round:{small.pk}").count() == 3


def test_a_stored_stage_that_does_not_follow_is_a_fault(env: RoundFixture, playing: Round) -> None:
    advance_round(playing)
    env.play()
    advance_round(playing)
    env.play()
    Decision.objects.filter(pk=Decision.objects.values("pk")[:1]).update(place=99)
    with pytest.raises(Fault, match="differs from what follows"):
        advance_round(playing)
    for _ in range(2):
        tasks.advance_round()
    playing.refresh_from_db()
    assert (playing.state, playing.stages.count()) == ("playing", 1)
    assert "differs from what follows" in playing.problem
    assert Event.objects.filter(verb="stop").count() == 1


def test_paused_no_piece_starts_and_running_ones_are_committed(env: RoundFixture, small: Round) -> None:
    advance_round(small)
    claim = claim_piece(env.worker())
    assert claim is not None
    lifecycle.pause(round_=small, by=env.organiser, reason="a storm")
    assert claim_piece(env.worker("b/0")) is None
    piece_queue.commit(claim, env.played(claim))
    advance_round(small)
    assert small.state == "paused"
    assert Match.objects.filter(state=Match.State.SUSPENDED).exists()

    lifecycle.resume(round_=small, by=env.organiser)
    env.run(small)
    assert small.state == "scored"


def test_a_cancelled_round_is_not_played(env: RoundFixture, small: Round) -> None:
    advance_round(small)
    lifecycle.cancel(round_=small, by=env.organiser, reason="wrong samples")
    assert claim_piece(env.worker()) is None
    assert set(Match.objects.values_list("state", flat=True)) == {"cancelled"}
    tasks.sweep()
    assert not small.stages.exists()


def test_all_attacks_dead_is_a_result_too(env: RoundFixture) -> None:
    env.field(6, 6)
    env.distance = lambda model, attack, sample: math.inf
    round_ = env.scored(env.plan(samples=8))
    assert round_.state == "scored"
    assert set(round_.entries.filter(track__name="model").values_list("not_broken", flat=True)) == {True}
