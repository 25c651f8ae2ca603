"""What every kind of work promises to the queue and to a worker."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from core import clock
from tests.platform.conftest import FakeClock
from workers import queue
from workers.fault_record import MAX_FAULTS, PAUSES, Retried
from workers.lease import BEAT_SECONDS
from workers.models import Priority, Worker, WorkerTime
from workers.queue import Claimed
from workers.work import kinds

SETS_UP = {"pieces": "match", "runs": "attacked"}
"""The fixture that makes waiting items of each kind."""


@pytest.fixture(autouse=True, params=SETS_UP)
def kind(request: pytest.FixtureRequest, the_clock: FakeClock) -> str:
    """Items of one kind, which wait; nothing else does."""
    request.getfixturevalue(SETS_UP[request.param])
    return str(request.param)


def row_of(claimed: Claimed) -> Retried:
    return claimed.kind.row(claimed.claim)


def claimed_by(worker: Worker) -> Claimed:
    found = queue.claim(worker)
    assert found is not None
    return found


def only(kind: str, worker: Worker) -> Claimed:
    """Claim the only item that is left waiting: workers that never end hold the others."""
    first = claimed_by(worker)
    others = type(row_of(first)).objects.exclude(pk=row_of(first).pk)  # type: ignore[attr-defined]
    others.delete()
    return first


def test_every_kind_is_tested() -> None:
    assert {each.name for each in kinds} == set(SETS_UP)


def test_each_item_is_claimed_once(kind: str, worker: Worker) -> None:
    rows = [row_of(claimed) for claimed in iter(lambda: queue.claim(worker), None)]
    assert len({row.pk for row in rows}) == len(rows) > 1
    assert all(row.held().exists() for row in rows)
    assert not queue.anything_waits()


def test_what_is_held_is_seen_with_its_team_and_its_lease(kind: str, worker: Worker, the_clock: FakeClock) -> None:
    claimed = claimed_by(worker)
    (held,) = claimed.kind.held()
    row: Any = row_of(claimed)
    assert (held.priority, held.entry) == (Priority.BOARD, row.entry_id)
    assert (held.since, held.until) == (the_clock.at, the_clock.at + row.LEASE)


def test_a_renewed_lease_does_not_expire(kind: str, worker: Worker, the_clock: FakeClock) -> None:
    row = row_of(claimed_by(worker))
    for _ in range(10):
        the_clock.forward(seconds=2 * BEAT_SECONDS)
        assert row.renew()
    assert queue.expire() == 0


def test_an_expired_item_is_claimed_again_and_lost_to_its_first_worker(
    kind: str, worker: Worker, the_clock: FakeClock
) -> None:
    lost = only(kind, worker)
    the_clock.forward(seconds=31)
    again = claimed_by(worker)
    assert row_of(again).pk == row_of(lost).pk
    assert row_of(again).faults == 1
    assert not row_of(lost).renew()
    assert not lost.kind.release(lost.claim)
    assert not lost.kind.release(lost.claim, fault="too late")
    assert row_of(again).held().exists()


def test_an_item_that_is_renewed_while_the_sweep_looks_stays_with_its_worker(
    kind: str, worker: Worker, the_clock: FakeClock
) -> None:
    """The sweep has read that the lease expired; its worker renews it before the sweep writes."""
    row = row_of(claimed_by(worker))
    the_clock.forward(seconds=31)
    renewed: list[str] = []

    def renew_before(execute: Callable[..., Any], sql: str, *given: Any) -> Any:
        if sql.startswith("UPDATE") and not renewed:
            renewed.append(sql)
            assert row.renew()
        return execute(sql, *given)

    with connection.execute_wrapper(renew_before):
        assert queue.expire() == 0
    assert renewed
    row.refresh_from_db()
    assert row.held().exists()
    assert row.faults == 0


def test_a_stopped_worker_frees_its_item_at_once_and_without_a_fault(kind: str, worker: Worker) -> None:
    claimed = only(kind, worker)
    assert claimed.kind.release(claimed.claim)
    again = claimed_by(worker)
    assert (row_of(again).pk, row_of(again).faults, row_of(again).host_faults) == (row_of(claimed).pk, 0, 0)


def test_after_a_fault_an_item_waits_and_is_given_up_after_faults_on_two_hosts(
    kind: str, worker: Worker, the_clock: FakeClock
) -> None:
    other = Worker.objects.create(name="other/0", worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now())
    claimed = only(kind, worker)
    for number, pause in zip(range(1, MAX_FAULTS), PAUSES, strict=False):
        assert claimed.kind.release(claimed.claim, fault="the disk is broken")
        assert queue.claim(worker) is None
        the_clock.forward(seconds=pause.total_seconds() + 1)
        claimed = claimed_by(worker if number % 2 else other)
        assert row_of(claimed).faults == number
    assert claimed.kind.release(claimed.claim, fault="the disk is broken")
    the_clock.forward(seconds=86_400)
    last = queue.claim(other)
    if last is not None:  # all faults were on one host
        assert last.kind.release(last.claim, fault="the disk is broken")
        the_clock.forward(seconds=86_400)
    assert queue.claim(worker) is None
    assert not queue.anything_waits()


def test_failures_of_hosts_never_give_an_item_up(kind: str, worker: Worker, the_clock: FakeClock) -> None:
    claimed = only(kind, worker)
    for _ in range(2 * MAX_FAULTS):
        assert claimed.kind.release(claimed.claim, fault="no such object", host_failed=True)
        the_clock.forward(seconds=86_400)
        claimed = claimed_by(worker)
    assert row_of(claimed).faults == 0


def test_a_clock_of_a_host_that_is_wrong_changes_no_lease(
    kind: str, worker: Worker, the_clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed = claimed_by(worker)
    monkeypatch.setattr(clock, "now", lambda: the_clock.at + timedelta(days=1))
    assert queue.expire() == 0
    assert row_of(claimed).renew()


def test_a_worker_may_hold_an_item_for_a_bounded_time(kind: str, worker: Worker) -> None:
    claimed = claimed_by(worker)
    assert timedelta(0) < claimed.kind.longest(claimed.claim) < timedelta(days=2)


def test_only_committed_work_counts_against_the_share_of_a_team(kind: str, worker: Worker) -> None:
    claimed = claimed_by(worker)
    claimed.kind.release(claimed.claim, fault="a platform error")
    assert not WorkerTime.objects.exists()
