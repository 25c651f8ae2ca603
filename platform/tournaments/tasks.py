"""Celery tasks of tournaments. Messages only wake workers: the work to do is in the database."""

from __future__ import annotations

import fcntl
import time
from dataclasses import dataclass

from celery import shared_task
from django.conf import settings

from core import notify
from core.worker_slot import slot
from matches.heartbeat import Heartbeat, register
from tournaments import queue, services
from tournaments.engine_adapter import remove_leftovers
from tournaments.models import Tournament
from tournaments.worker import play_runs

PLAY_SECONDS = 60.0
"""Time after which a worker that also builds submissions returns to its queues."""

NOTIFY_AGAIN_SECONDS = 60.0
"""Interval of the notifications while nothing is played."""


@dataclass
class _Sweeps:
    """State of this process between sweeps, in `time.monotonic()`."""

    notified_at: float = -NOTIFY_AGAIN_SECONDS


_sweeps = _Sweeps()


@shared_task(name="tournaments.play")  # type: ignore[untyped-decorator]
def play() -> None:
    """Play waiting runs for about a minute; notify other workers while more wait."""
    remove_leftovers()
    worker = register(slot())
    with Heartbeat(worker) as heartbeat:
        play_runs(worker.name, heartbeat, seconds=PLAY_SECONDS)


@shared_task(name="tournaments.advance")  # type: ignore[untyped-decorator]
def advance(tournament: int) -> None:
    """Request what a tournament needs next, and rank its entrants."""
    rows = Tournament.objects.select_related("rules__competition", "sample_set", "competition")
    services.advance(rows.get(pk=tournament))


@shared_task(name="tournaments.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Advance every leaderboard and return the runs of lost workers, from the database alone."""
    queue.expire()
    _make_baselines()
    services.advance_all()
    if queue.anything_waits() and not queue.anything_is_held():
        _notify_first_worker()


def _notify_first_worker() -> None:
    """Notify one worker, at most once per `NOTIFY_AGAIN_SECONDS`: it notifies the next one while more waits.

    More messages would pile up in the broker, before those of the query format.
    """
    if time.monotonic() >= _sweeps.notified_at + NOTIFY_AGAIN_SECONDS:
        _sweeps.notified_at = time.monotonic()
        notify.notify("tournaments.play")


def _make_baselines() -> None:
    """Build in one process of a host, however long it takes; the sweeps of the other processes continue."""
    with (settings.STATE / "tournament-baselines.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        services.make_baselines()
