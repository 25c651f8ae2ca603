"""Restarts of the database while a worker plays: no result is lost, and no run is given up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection
from pytest_django import Settings

from competitions.models import Competition
from core import database_retry
from formats.transfer.tournaments import services
from formats.transfer.tournaments.models import AttackRun, Run, Tournament
from submissions.models import Submission
from tests.platform.conftest import FakeClock
from tests.platform.formats.transfer.tournaments.conftest import COPY
from workers.heartbeat import WorkerHeartbeat, register
from workers.worker_loop import play as play_work

pytestmark = pytest.mark.django_db(transaction=True)

HOSTS = ("one", "two")


class Outage:
    """A wrapper of the connection's queries: those that write a run fail so many times."""

    def __init__(self, failures: int) -> None:
        self.left = failures

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if self.left and sql.startswith('UPDATE "tournaments_attackrun"') and "seconds" in sql:
            self.left -= 1
            raise OperationalError("terminating connection due to administrator command")
        return execute(sql, params, many, context)


@pytest.fixture
def tournament(transfer: Competition, push: Callable[..., Submission], the_clock: FakeClock) -> Tournament:
    """An attack with one batch that waits."""
    transfer.tracks.update(baselines=[])
    push("owls", "attack", COPY)
    made = services.make_tournament(transfer)
    services.advance(made)
    AttackRun.objects.filter(batch=1).delete()
    return made


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for the database to come back."""
    monkeypatch.setattr(database_retry, "PAUSES", (0.0, 0.0))


def play(host: str, outage: Outage, settings: Settings) -> None:
    """Let a worker of `host` play one run during an outage."""
    settings.WORKER_NAME = host
    with connection.execute_wrapper(outage):
        worker = register(0)
        with WorkerHeartbeat(worker) as heartbeat:
            play_work(worker, heartbeat, seconds=0.0)
    outage.left = 0


def test_a_result_is_written_once_the_database_is_back(tournament: Tournament, settings: Settings) -> None:
    play("one", Outage(2), settings)
    run = AttackRun.objects.get()
    assert (run.state, run.made, run.faults, run.host_faults, run.fence) == (Run.State.PLAYED, 4, 0, 0, 1)


def test_longer_outages_are_no_faults_of_the_run(
    tournament: Tournament, settings: Settings, the_clock: FakeClock
) -> None:
    for number in range(3):
        play(HOSTS[number % 2], Outage(3), settings)
        run = AttackRun.objects.get()
        assert (run.state, run.faults, run.host_faults) == (Run.State.WAITING, 0, number + 1)
        the_clock.forward(hours=1)
    play("one", Outage(0), settings)
    assert AttackRun.objects.get().state == Run.State.PLAYED


def test_the_failure_of_the_last_attempt_is_raised() -> None:
    calls = []

    def fail() -> None:
        calls.append(connection)
        raise OperationalError("it is shutting down")

    with pytest.raises(OperationalError):
        database_retry.persist(fail)
    assert len(calls) == 3
