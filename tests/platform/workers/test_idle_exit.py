from __future__ import annotations

import os
import signal
from datetime import timedelta

import pytest
from celery.worker import state
from pytest_django import Settings

from core import clock
from workers import idle_exit
from workers.models import Host


@pytest.fixture
def signals(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The signals that this process would have sent to itself."""
    sent: list[int] = []

    def kill(number: int, name: int) -> None:
        assert number == os.getpid()
        sent.append(name)

    monkeypatch.setattr("workers.idle_exit.os.kill", kill)
    monkeypatch.setattr(idle_exit, "_LOOK_SECONDS", 0.01)
    return sent


def looks(monkeypatch: pytest.MonkeyPatch, needed: list[bool]) -> None:
    """Something waits at the first looks, as said; then nothing."""
    left = iter(needed)
    monkeypatch.setattr(idle_exit, "anything_waits", lambda worker: next(left, False))


def test_a_worker_ends_once_nothing_waits(signals: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    looks(monkeypatch, [True, False, True])
    idle_exit._watch(0.03)
    assert signals == [signal.SIGTERM]


def test_it_stays_while_a_slot_plays(signals: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    looks(monkeypatch, [])
    playing = object()
    monkeypatch.setattr(state, "active_requests", {playing})
    assert idle_exit._is_needed()
    monkeypatch.setattr(state, "active_requests", set())
    assert not idle_exit._is_needed()


def test_it_stays_while_the_database_is_away(signals: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def away(worker: object) -> bool:
        raise ConnectionError("the database is away")

    monkeypatch.setattr(idle_exit, "anything_waits", away)
    assert idle_exit._is_needed()


def test_it_ends_on_a_host_that_is_out_of_service(
    signals: list[int], monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    looks(monkeypatch, [True] * 1000)
    assert idle_exit._is_needed()
    now = clock.now()
    Host.objects.create(name=settings.WORKER_NAME, out_since=now, check_due_at=now + timedelta(hours=1))
    idle_exit._watch(0.03)
    assert signals == [signal.SIGTERM]


def test_it_stays_on_a_host_whose_check_is_due(
    signals: list[int], monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    looks(monkeypatch, [True] * 2)
    Host.objects.create(name=settings.WORKER_NAME, out_since=clock.now(), check_due_at=clock.now())
    assert idle_exit._is_needed()
    Host.objects.update(check_due_at=None)
    assert not idle_exit._is_needed(), "an operator decides"
