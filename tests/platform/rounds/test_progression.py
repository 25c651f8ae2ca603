"""One step of a round: what it asks for, what stops it, and that it may be repeated."""

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
from matches import queue
from matches.models import Match, Piece, SampleResult
from matches.services import replay_failed
from rounds import services, tasks
from rounds.engine_adapter import facts_of
from rounds.models import Decision, Round, RoundEntry, RoundMatch

if TYPE_CHECKING:
    from tests.platform.rounds.conftest import Hall


@pytest.fixture
def playing(hall: Hall) -> Round:
    """A round of twelve on each side, which has a cut, begun, with nothing asked for."""
    hall.field(12, 12)
    return hall.begin(hall.plan(samples=16, schedule="halving"))


@pytest.fixture
def small(hall: Hall) -> Round:
    """A round of four on each side, begun, that is over after one step."""
    hall.field(4, 4)
    return hall.begin(hall.plan(samples=8))


def test_it_works(hall: Hall, playing: Round) -> None:
    services.advance_round(playing)
    matches = Match.objects.filter(round_match__round=playing)
    assert matches.count() > 0
    assert set(matches.values_list("sample_set", "rules__version")) == {(playing.sample_set_id, 2)}
    # nothing beyond the first stage; and pieces end where one may end, or a sweep, whatever size the rules say
    assert set(Piece.objects.values_list("first", "count")) == {(0, 8), (8, 2)}


def test_it_waits_while_anything_is_open_and_may_be_repeated(hall: Hall, playing: Round) -> None:
    services.advance_round(playing)
    asked = set(Piece.objects.values_list("match", "first"))
    for _ in range(3):
        services.advance_round(playing)
    claim = queue.claim(hall.worker())
    assert claim is not None
    queue.commit(claim, hall.played(claim))
    tasks.sweep()
    assert set(Piece.objects.values_list("match", "first")) == asked
    assert not playing.stages.exists()


def test_a_step_takes_the_same_number_of_queries_however_many_play(hall: Hall) -> None:
    taken = []
    hall.field(4, 4)
    for samples in ("test", "test-2"):
        round_ = hall.begin(hall.plan(samples=8, source=samples))
        with CaptureQueriesContext(connection) as queries:
            services.advance_round(round_)
        taken.append(len(queries))
        services.cancel(round_=round_, by=hall.organiser, reason="only counted")
        for number in range(4, 7):
            hall.submission(f"mo-{number}", "model", number)
            hall.submission(f"un-{number}", "untargeted", number)
    assert taken[0] == taken[1]


@pytest.mark.django_db(transaction=True)
def test_many_conductors_at_once_take_one_step(hall: Hall) -> None:
    hall.field(11, 11)
    round_ = hall.begin(hall.plan(samples=16, schedule="halving"))

    def step(_: int) -> None:
        try:
            services.advance_round(round_)
        finally:
            connections.close_all()

    while not Round.objects.filter(pk=round_.pk, state="scored"):
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(step, range(4))) == [None] * 4
        hall.play()
    assert Event.objects.filter(verb="score").count() == 1
    assert round_.stages.count() == 2
    assert RoundMatch.objects.count() == Match.objects.count()


def test_what_another_conductor_asks_for_and_is_played_between_two_reads_is_left_for_later(
    hall: Hall, small: Round
) -> None:
    seen: list[str] = []

    def meanwhile(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if 'FROM "matches_sampleresult"' in sql and not seen:
            seen.append(sql)
            services.advance_round(small)
            hall.play()
        return execute(sql, *rest)

    with connection.execute_wrapper(meanwhile):
        facts = facts_of(small)
    assert (len(seen), facts.results) == (1, {})
    assert len(facts_of(small).results) == RoundMatch.objects.count() > 0


@pytest.fixture
def other(hall: Hall) -> Competition:
    """Another competition, so that two rounds can be under way."""
    now = hall.clock.at
    dates = {"starts_at": now, "ends_at": now + timedelta(days=9), "created_at": now}
    return Competition.objects.create(slug="other", title="Other", **dates)


def test_an_error_that_nobody_foresaw_holds_up_no_other_round(hall: Hall, small: Round, other: Competition) -> None:
    behind = hall.plan(samples=8, source="test-2", day=1)
    hall.run(small)
    Round.objects.filter(pk=small.pk).update(competition=other, state="playing")
    SampleResult.objects.filter(pk__in=SampleResult.objects.values("pk")[:1]).update(outcome="unheard of")
    hall.begin(behind)
    for _ in range(2):
        tasks.sweep()
    small.refresh_from_db()
    assert (small.state, small.problem) == ("playing", "our side failed: KeyError: 'unheard of'")
    assert Event.objects.filter(verb="stop", subject=f"round:{small.pk}").count() == 1
    assert behind.round_matches.exists()


def test_nor_does_one_while_another_round_is_frozen(hall: Hall, small: Round, other: Competition) -> None:
    torn = hall.plan(samples=8, source="test-2", day=1)
    Round.objects.filter(pk=small.pk).update(competition=other)
    entry = small.entries.all()[0]
    RoundEntry.objects.create(
        round=torn, track=entry.track, submission=entry.submission, player=entry.player, order=1, prior=1
    )
    hall.clock.at = torn.window.starts_at
    tasks.sweep()
    torn.refresh_from_db()
    assert torn.state == "planned"
    assert torn.problem.startswith("our side failed: IntegrityError: ")
    assert small.round_matches.exists()


def test_a_failed_match_stops_it_until_it_is_replayed(hall: Hall, small: Round) -> None:
    services.advance_round(small)
    worker = hall.worker()
    claim = queue.claim(worker)
    while claim is not None and claim.piece.faults < 2:
        queue.release_claim(claim, fault="no disk")
        hall.clock.forward(minutes=5)
        claim = queue.claim(worker, prefer=claim.piece.match)
    assert claim is not None
    queue.release_claim(claim, fault="no disk")
    hall.play()
    for _ in range(3):
        tasks.advance_round()
    small.refresh_from_db()
    failed = claim.piece.match
    assert f"Our side failed in 1 of its matches: match {failed.pk}" in small.problem
    assert "no disk" in small.problem
    assert "have them replayed" in small.problem
    assert not small.stages.exists()
    assert Event.objects.filter(verb="stop", subject=f"round:{small.pk}").count() == 1

    replay_failed(Match.objects.get(pk=failed.pk), hall.organiser)
    hall.worker("arena-2/play/0")
    tasks.advance_round()
    small.refresh_from_db()
    assert small.problem == ""
    hall.run(small)
    assert small.state == "scored"


def test_a_round_that_no_live_worker_can_play_says_so_until_one_comes(hall: Hall, small: Round) -> None:
    def problem() -> str:
        for _ in range(3):
            tasks.sweep()
        small.refresh_from_db()
        return small.problem

    tasks.sweep()
    assert "No worker that plays was seen lately" in problem()
    hall.worker()
    assert problem() == ""
    Match.objects.filter(pk=Match.objects.latest("pk").pk).update(needs_gpu=True)
    assert "No worker with a GPU was seen lately" in problem()
    hall.worker("arena-1/play/1", "gpu")
    assert problem() == ""
    hall.clock.forward(minutes=5)
    assert "No worker with a GPU was seen lately" in problem()
    assert Event.objects.filter(verb="stop", subject=f"round:{small.pk}").count() == 3


def test_a_stored_stage_that_does_not_follow_is_a_fault(hall: Hall, playing: Round) -> None:
    services.advance_round(playing)
    hall.play()
    services.advance_round(playing)
    hall.play()
    Decision.objects.filter(pk=Decision.objects.values("pk")[:1]).update(place=99)
    with pytest.raises(Fault, match="stored otherwise"):
        services.advance_round(playing)
    for _ in range(2):
        tasks.advance_round()
    playing.refresh_from_db()
    assert (playing.state, playing.stages.count()) == ("playing", 1)
    assert "stored otherwise" in playing.problem
    assert Event.objects.filter(verb="stop").count() == 1


def test_paused_nobody_takes_up_a_piece_and_what_is_in_hand_is_committed(hall: Hall, small: Round) -> None:
    services.advance_round(small)
    claim = queue.claim(hall.worker())
    assert claim is not None
    services.pause(round_=small, by=hall.organiser, reason="a storm")
    assert queue.claim(hall.worker("b/0")) is None
    queue.commit(claim, hall.played(claim))
    services.advance_round(small)
    assert small.state == "paused"
    assert Match.objects.filter(state=Match.State.SUSPENDED).exists()

    services.resume(round_=small, by=hall.organiser)
    hall.run(small)
    assert small.state == "scored"


def test_cancelled_nothing_of_it_is_played(hall: Hall, small: Round) -> None:
    services.advance_round(small)
    services.cancel(round_=small, by=hall.organiser, reason="wrong samples")
    assert queue.claim(hall.worker()) is None
    assert set(Match.objects.values_list("state", flat=True)) == {"cancelled"}
    tasks.sweep()
    assert not small.stages.exists()


def test_all_attacks_dead_is_a_result_too(hall: Hall) -> None:
    hall.field(6, 6)
    hall.distance = lambda model, attack, sample: math.inf
    round_ = hall.scored(hall.plan(samples=8))
    assert round_.state == "scored"
    assert set(round_.entries.filter(track__name="model").values_list("not_broken", flat=True)) == {True}
