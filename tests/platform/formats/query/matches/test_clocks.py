"""Hosts whose clocks are wrong: the database's clock decides, and each worker reports the skew of its own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

import pytest
from django.db import connection

from core import clock
from formats.query.matches.models import Match
from formats.query.matches.piece_work import pieces
from tests.platform.claims import claim_piece, hold_piece
from workers import tasks
from workers.heartbeat import WorkerHeartbeat
from workers.models import Worker
from workers.selectors import live_workers
from workers.services import record_worker

OFF = [pytest.param(31.0, id="fast"), pytest.param(-31.0, id="slow")]


class Clock(Protocol):
    at: datetime

    def forward(self, **by: float) -> datetime: ...


@pytest.fixture
def host(the_clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Continue on a host whose clock is some seconds ahead of the database's."""

    def move(ahead: float) -> None:
        monkeypatch.setattr(clock, "now", lambda: the_clock.at + timedelta(seconds=ahead))

    return move


@pytest.mark.parametrize("off", OFF)
def test_a_worker_with_a_wrong_clock_fails_no_other_lease(
    match: Match, make_worker: Callable[..., Worker], the_clock: Clock, host: Callable[[float], None], off: float
) -> None:
    busy, other = make_worker("busy"), make_worker("other")
    claim = claim_piece(busy)
    assert claim is not None
    for _ in range(4):
        the_clock.forward(seconds=20)
        host(0.0)
        assert claim.piece.renew()
        host(off)
        tasks.sweep()
        claim_piece(other, prefer=match)
        row = match.pieces.get(number=0)
        assert (row.worker, row.faults) == (busy, 0)


@pytest.mark.parametrize("off", OFF)
def test_a_worker_with_a_wrong_clock_keeps_its_own_leases(
    match: Match, make_worker: Callable[..., Worker], the_clock: Clock, host: Callable[[float], None], off: float
) -> None:
    worker = make_worker()
    heartbeat = WorkerHeartbeat(worker)
    host(off)
    hold_piece(worker, heartbeat)
    for _ in range(4):
        the_clock.forward(seconds=20)
        host(off)
        heartbeat.beat()
        host(0.0)
        assert pieces.expire() == 0
        assert list(live_workers()) == [worker]


def test_a_lost_lease_is_noticed_on_a_slow_host_too(
    match: Match, make_worker: Callable[..., Worker], the_clock: Clock, host: Callable[[float], None]
) -> None:
    claim_piece(make_worker())
    the_clock.forward(seconds=31)
    host(-31.0)
    assert pieces.expire() == 1


@pytest.mark.parametrize("off", OFF)
def test_a_piece_waits_equally_long_on_every_host(
    match: Match, make_worker: Callable[..., Worker], the_clock: Clock, host: Callable[[float], None], off: float
) -> None:
    worker = make_worker()
    claim = claim_piece(worker)
    assert claim is not None
    pieces.release(claim, fault="the engine is away")
    host(off)
    other = claim_piece(worker)
    assert other is not None
    assert other.piece != claim.piece
    the_clock.forward(seconds=11)
    host(off)
    again = claim_piece(worker)
    assert again is not None
    assert again.piece == claim.piece


@pytest.mark.parametrize("off", OFF)
def test_a_worker_reports_its_clock_skew(db: None, the_clock: Clock, host: Callable[[float], None], off: float) -> None:
    host(off)
    worker = record_worker(name="one", worker_class="cpu", device="", calibration=1.0, started_at=the_clock.at)
    assert (worker.clock_skew, worker.last_seen_at) == (off, the_clock.at)
    host(0.0)
    WorkerHeartbeat(worker).beat()
    worker.refresh_from_db()
    assert worker.clock_skew == 0.0


@pytest.mark.django_db
def test_the_skew_is_measured_against_the_database_server(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = clock.now
    monkeypatch.setattr(clock, "now", lambda: ahead() + timedelta(hours=1))
    _, skew = clock.compare()
    assert (skew > 3000.0) == (connection.vendor == "postgresql")
