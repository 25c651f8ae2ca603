"""A lease is renewed while its piece is played, within a limit: an engine that hangs is a platform error."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from django.db import OperationalError, connection
from pytest_django import DjangoAssertNumQueries

from evaluation.formats.query.rules import QueryRules
from formats.query.matches.match_session import longest_seconds
from formats.query.matches.models import Match
from formats.query.matches.piece_work import pieces
from tests.platform.claims import hold_piece
from workers.heartbeat import RECORDED_EACH, WorkerHeartbeat
from workers.lease import BEAT_SECONDS, Heartbeat
from workers.models import Worker
from workers.selectors import HEARTBEAT_TIMEOUT


class Clock(Protocol):
    at: datetime

    def forward(self, **by: float) -> datetime: ...


def test_a_beat_renews_the_lease(match: Match, the_clock: Clock, make_worker: Callable[..., Worker]) -> None:
    worker = make_worker()
    heartbeat = WorkerHeartbeat(worker)
    hold_piece(worker, heartbeat)
    the_clock.forward(seconds=20)
    heartbeat.beat()
    the_clock.forward(seconds=20)
    assert pieces.expire() == 0


def test_a_beat_is_made_again_where_the_database_had_ended_the_connection() -> None:
    beats, begun = [], threading.Event()

    class LostConnection(Heartbeat):
        def beat(self) -> None:
            beats.append("beat")
            self._stopped.set()  # there is no next beat
            begun.set()
            if len(beats) == 1:
                raise OperationalError("server closed the connection unexpectedly")

    with LostConnection(seconds=0.01):
        assert begun.wait(60)
    assert len(beats) == 2


def test_the_lease_of_a_hanging_claim_is_not_renewed(
    match: Match, the_clock: Clock, make_worker: Callable[..., Worker]
) -> None:
    worker = make_worker()
    heartbeat = WorkerHeartbeat(worker)
    claim = hold_piece(worker, heartbeat)
    assert claim is not None
    longest = longest_seconds(match.rules.rules_as(QueryRules), claim.piece.count, 1.0)
    the_clock.forward(seconds=longest - 1)
    heartbeat.beat()
    assert pieces.expire() == 0
    the_clock.forward(seconds=2)
    heartbeat.beat()
    the_clock.forward(seconds=30)
    assert pieces.expire() == 1
    assert match.pieces.get(number=0).faults == 1


def test_the_maximum_time_follows_from_the_rules() -> None:
    rules = QueryRules(
        query_budget=99, setup_seconds=100.0, model_seconds_per_image=0.1, attack_seconds_per_sample=90.0
    )
    # six starts, ten samples of a hundred images and ninety seconds, three times the model's grace
    played = 6 * 100 + 10 * 100 * 0.1 + 10 * 90 + 3 * 10
    assert longest_seconds(rules, 10, 1.0) == 2 * played + 3600
    assert longest_seconds(rules, 10, 3.0) == 6 * played + 3600


def test_a_busy_worker_is_recorded_as_seen_every_15_seconds(
    match: Match, the_clock: Clock, make_worker: Callable[..., Worker]
) -> None:
    worker = make_worker()
    heartbeat = WorkerHeartbeat(worker)
    claim = hold_piece(worker, heartbeat)
    seen, renewed = [], []
    for _ in range(7):
        now = the_clock.forward(seconds=5)
        heartbeat.beat()
        worker.refresh_from_db()
        claim.piece.refresh_from_db()
        seen.append(now - worker.last_seen_at)
        renewed.append(claim.piece.lease_until)
    assert [each.seconds for each in seen] == [0, 5, 10, 0, 5, 10, 0]
    assert len(set(renewed)) == 7
    assert HEARTBEAT_TIMEOUT.total_seconds() / 2 >= RECORDED_EACH * BEAT_SECONDS * 2


def test_a_beat_is_one_statement_and_each_third_one_three(
    match: Match, make_worker: Callable[..., Worker], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """With 2,000 workers, each statement more is a tenth of the database's processor."""
    worker = make_worker()
    heartbeat = WorkerHeartbeat(worker)
    hold_piece(worker, heartbeat)
    time_questions = 1 if connection.vendor == "postgresql" else 0  # SQLite has no clock of its own
    for expected in (2 + time_questions, 1, 1, 2 + time_questions):
        with django_assert_num_queries(expected):
            heartbeat.beat()
