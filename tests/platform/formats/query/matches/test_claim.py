"""Leases, fences, faults and the order of the queue."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Protocol

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from competitions.models import SampleSet
from core import clock
from core.models import Event
from evaluation.formats.query.results import AuditReport
from formats.query.matches import match_requests, piece_queue
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.matches.piece_queue import Claim
from formats.query.matches.piece_result import PlayedPiece
from formats.query.matches.piece_work import pieces
from formats.query.matches.selectors import queue_of, waiting
from tests.platform.claims import claim_piece
from tests.platform.formats.query.matches.whole_match import ensure_match
from workers import work_item_queue
from workers.lease import LostClaimError
from workers.models import Worker
from workers.work_item_queue import with_items

HOUR = timedelta(hours=1)


class Clock(Protocol):
    def forward(self, **by: float) -> datetime: ...


MakeWorker = Callable[..., Worker]
Played = Callable[[Piece], PlayedPiece]


@pytest.fixture
def one(the_clock: Clock, make_worker: MakeWorker) -> Worker:
    return make_worker("one")


@pytest.fixture
def two(the_clock: Clock, make_worker: MakeWorker) -> Worker:
    return make_worker("two")


@pytest.fixture
def younger(match: Match, sample_sets: dict[str, SampleSet]) -> Match:
    """A match of five pieces that was requested later."""
    return ensure_match(
        rules=match.rules, sample_set=sample_sets["development"], model=match.model, attack=match.attack
    )


def claimed(worker: Worker, prefer: Match | None = None) -> Claim:
    claim = claim_piece(worker, prefer)
    assert claim is not None
    return claim


def requested_again(match: Match, sample_set: SampleSet, delay: timedelta = timedelta(0)) -> Match:
    """Return the match of the same players on `sample_set`."""
    return ensure_match(rules=match.rules, model=match.model, attack=match.attack, sample_set=sample_set, delay=delay)


def state_of(match: Match) -> str:
    match.refresh_from_db()
    return match.state


def test_a_claim_marks_the_piece_and_its_match(match: Match, one: Worker) -> None:
    claim = claimed(one)
    assert (claim.piece.number, claim.piece.fence) == (0, 1)
    row = match.pieces.get(number=0)
    assert (row.state, row.worker, row.fence) == ("claimed", one, 1)
    assert state_of(match) == "playing"


def test_a_worker_stays_with_the_match_whose_players_are_running(match: Match, younger: Match, one: Worker) -> None:
    assert claimed(one, prefer=younger).piece.match == younger
    assert [claimed(one, prefer=younger).piece.number for _ in range(4)] == [1, 2, 3, 4]
    assert claimed(one, prefer=younger).piece.match == match


def test_a_match_without_a_worker_comes_first(match: Match, younger: Match, one: Worker, two: Worker) -> None:
    assert claimed(one).piece.match == match
    assert claimed(two).piece.match == younger
    assert claimed(one).piece.match == match


def test_delayed_pieces_come_after_immediate_ones(
    match: Match, sample_sets: dict[str, SampleSet], one: Worker, two: Worker, the_clock: Clock
) -> None:
    Piece.objects.all().delete()
    may_wait = requested_again(match, sample_sets["validation"], HOUR)
    the_clock.forward(minutes=30)
    wanted = requested_again(match, sample_sets["development"])
    assert queue_of([may_wait]).pieces_ahead == 5
    assert queue_of([wanted]).pieces_ahead == 0
    assert [claimed(worker).piece.match for worker in (one, two)] == [wanted, may_wait], "nobody is idle meanwhile"
    assert [claimed(two).piece.match for _ in range(4)] == [wanted] * 4


def test_delayed_pieces_do_not_wait_without_limit(
    match: Match, sample_sets: dict[str, SampleSet], one: Worker, the_clock: Clock
) -> None:
    Piece.objects.all().delete()
    may_wait = requested_again(match, sample_sets["validation"], HOUR)
    the_clock.forward(minutes=61)
    requested_again(match, sample_sets["development"])
    assert claimed(one).piece.match == may_wait


def test_a_piece_delayed_for_one_team_is_played_now_for_another(
    the_clock: Clock, match: Match, younger: Match, one: Worker
) -> None:
    Piece.objects.filter(match=match).update(queued_at=the_clock.forward(seconds=1) + HOUR)
    requested_again(match, match.sample_set)
    the_clock.forward(seconds=1)
    assert claimed(one).piece.match == younger
    assert claimed(one).piece.match == match
    assert queue_of([match]).pieces_ahead == 5


def test_only_a_gpu_worker_plays_a_match_that_needs_one(match: Match, one: Worker, make_worker: MakeWorker) -> None:
    Match.objects.update(needs_gpu=True)
    assert claim_piece(one) is None
    assert claimed(make_worker("three", "gpu")).piece.match == match


def test_no_played_piece_is_read_to_see_whether_one_waits(match: Match) -> None:
    one = {"match": match, "first": 0, "count": 1}
    made = [Piece(**one, number=100 + number, state="played" if number < 2000 else "waiting") for number in range(2200)]
    Piece.objects.bulk_create(made)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE matches_piece")
        with CaptureQueriesContext(connection) as asked:
            assert with_items(Piece.State.WAITING, [Piece]) == {Piece}
        explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
        cursor.execute(f"{explain} {asked[0]['sql']}")
        plan = str(cursor.fetchall())
    assert "Index" in plan or "USING COVERING INDEX" in plan, plan
    assert "Seq Scan" not in plan, plan


def test_a_heartbeat_renews_the_lease(match: Match, one: Worker, the_clock: Clock) -> None:
    claim = claimed(one)
    for _ in range(4):
        the_clock.forward(seconds=20)
        assert claim.piece.renew()
    assert pieces.expire() == 0


def test_a_lease_that_ended_while_the_database_was_away_may_be_renewed_when_it_is_back(
    match: Match, one: Worker, the_clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = claimed(one)
    the_clock.forward(seconds=300)
    monkeypatch.setattr(clock, "database_started_within", lambda period: period == Piece.LEASE)
    assert pieces.expire() == 0
    assert claim.piece.renew()
    monkeypatch.setattr(clock, "database_started_within", lambda period: False)
    the_clock.forward(seconds=29)
    assert pieces.expire() == 0
    the_clock.forward(seconds=2)
    assert pieces.expire() == 1


@pytest.mark.django_db
def test_the_database_knows_how_long_it_runs() -> None:
    assert not clock.database_started_within(timedelta(0))
    assert clock.database_started_within(timedelta(days=36_500)) == (connection.vendor == "postgresql")


def test_a_piece_without_a_heartbeat_goes_to_another_worker(
    match: Match, one: Worker, two: Worker, the_clock: Clock, played: Played
) -> None:
    lost = claimed(one)
    the_clock.forward(seconds=31)
    assert pieces.expire() == 1
    taken = claimed(two)
    assert (taken.piece, taken.piece.fence, taken.piece.faults) == (lost.piece, 2, 1)
    assert "no heartbeat from" in Event.objects.get(verb="fault").reason
    assert not lost.piece.renew()
    assert not pieces.release(lost)
    assert not pieces.release(lost, fault="too late")
    with pytest.raises(LostClaimError):
        piece_queue.commit(lost, played(lost.piece))
    assert not SampleResult.objects.exists()
    piece_queue.commit(taken, played(taken.piece))
    assert SampleResult.objects.count() == 2


def test_a_piece_is_written_once(match: Match, one: Worker, played: Played) -> None:
    claim = claimed(one)
    piece_queue.commit(claim, played(claim.piece))
    with pytest.raises(LostClaimError):
        piece_queue.commit(claim, played(claim.piece))
    assert SampleResult.objects.count() == 2


def test_a_released_piece_is_free_immediately(match: Match, one: Worker, two: Worker) -> None:
    claim = claimed(one)
    assert pieces.release(claim)
    assert (claimed(two).piece, match.pieces.get(number=0).faults) == (claim.piece, 0)


def test_a_piece_waits_after_a_fault(match: Match, one: Worker, the_clock: Clock) -> None:
    claim = claimed(one)
    pieces.release(claim, fault="the engine is away")
    assert claimed(one).piece.number == 1
    the_clock.forward(seconds=11)
    assert claimed(one).piece == claim.piece


def test_the_third_fault_fails_the_match(match: Match, one: Worker, two: Worker, the_clock: Clock) -> None:
    for worker in (one, two, one):
        the_clock.forward(minutes=3)
        claim = claimed(worker, prefer=match)
        assert claim.piece.number == 0
        pieces.release(claim, fault="the engine is away")
    assert state_of(match) == "failed"
    assert match.finished_at is not None
    assert match.fault == "piece 0 was given up after 3 platform errors on one, two; the last: the engine is away"
    assert match.pieces.get(number=0).state == "failed"
    assert Event.objects.filter(verb="fail_match").count() == 1
    assert claim_piece(one) is None


def test_the_last_piece_finishes_the_match(match: Match, one: Worker, two: Worker, played: Played) -> None:
    first, second, third = claimed(one), claimed(two), claimed(one)
    for claim in (third, first):
        piece_queue.commit(claim, played(claim.piece))
        assert state_of(match) == "playing"
    piece_queue.commit(second, played(second.piece))
    assert state_of(match) == "played"
    assert match.audit == asdict(AuditReport(replayed=12, judged=6)) | {
        "passed": True,
        "open": False,
        "stateful": False,
    }


def test_a_match_that_was_not_finished_is_found(match: Match, one: Worker) -> None:
    match.pieces.update(state="played")
    assert piece_queue.finish_played() == 1
    assert state_of(match) == "played"
    assert piece_queue.finish_played() == 0


@pytest.mark.django_db(transaction=True)
def test_concurrent_workers_play_each_piece_once(
    match: Match, younger: Match, make_worker: MakeWorker, played: Played, notifications: list[str]
) -> None:
    def work(worker: Worker) -> list[int]:
        keys = []
        try:
            while claim := claim_piece(worker):
                keys.append(claim.piece.pk)
                piece_queue.commit(claim, played(claim.piece))
        finally:
            connections.close_all()
        return keys

    crew = [make_worker(f"worker {number}") for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        keys = [key for part in pool.map(work, crew) for key in part]
    assert sorted(keys) == sorted(Piece.objects.values_list("pk", flat=True))
    assert (state_of(match), state_of(younger)) == ("played", "played")
    assert SampleResult.objects.count() == 16
    assert set(Piece.objects.values_list("fence", "faults")) == {(1, 0)}
    assert notifications.count("leaderboards.score") == 2


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no locks of rows: writers wait for each other")
@pytest.mark.django_db(transaction=True)
def test_a_request_that_meets_a_claim_of_its_match_waits_for_it(
    match: Match, make_worker: MakeWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    match.pieces.update(queued_at=clock.database_now() + HOUR)  # of a team of low priority
    held, requested = threading.Event(), threading.Event()
    find, take = match_requests._locked_matches, work_item_queue.take

    def found(*args: Any) -> Any:
        matches = find(*args)
        requested.set()
        return matches

    def taken(*args: Any, **worker: Any) -> bool:
        is_taken = take(*args, **worker)
        held.set()
        requested.wait(timeout=20)
        time.sleep(0.5)  # until the request waits for the piece
        return is_taken

    def request() -> None:
        held.wait(timeout=20)
        try:
            requested_again(match, match.sample_set)
        finally:
            connections.close_all()

    monkeypatch.setattr(match_requests, "_locked_matches", found)
    monkeypatch.setattr(piece_queue, "take", taken)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(request)
        claim = claim_piece(make_worker("one"))
        other.result()
    assert claim is not None
    assert match.pieces.get(pk=claim.piece.pk).state == "claimed"
    assert match.pieces.filter(state="waiting", queued_at__gt=clock.database_now()).count() == 0


@pytest.mark.django_db
def test_waiting_pieces_are_those_of_one_state() -> None:
    """A list of states would keep the database from reading the index in the order of the queue."""
    assert '"matches_piece"."state" IN' not in str(waiting(clock.now()).query)
