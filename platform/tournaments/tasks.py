"""Celery tasks of tournaments. Messages only wake workers: the work to do is in the database."""

from __future__ import annotations

import fcntl
import time

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
"""Least interval of the notifications of one task by the sweeps of one process."""

_notified_at: dict[str, float] = {}
"""By task, when a sweep of this process last notified it, in `time.monotonic()`."""


@shared_task(name="tournaments.play")  # type: ignore[untyped-decorator]
def play() -> None:
    """Play waiting runs for about a minute; notify other workers while more wait."""
    remove_leftovers()
    worker = register(slot())
    with Heartbeat(worker) as heartbeat:
        play_runs(worker.name, heartbeat, seconds=PLAY_SECONDS)


@shared_task(name="tournaments.advance")  # type: ignore[untyped-decorator]
def advance(tournament: int, attack_run: int | None = None) -> None:
    """Request what a tournament needs next, after the `attack_run` if one is named, and rank its entrants."""
    rows = Tournament.objects.select_related("rules__competition", "sample_set", "competition")
    services.advance(rows.get(pk=tournament), attack_run)


@shared_task(name="tournaments.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Advance every leaderboard and return the runs of lost workers, from the database alone."""
    queue.expire()
    services.advance_all()
    if services.missing_baselines():
        _notify("tournaments.make_baselines")
    if queue.anything_waits() and not queue.anything_is_played():
        _notify("tournaments.play")  # one worker, which notifies the next one while more waits


@shared_task(name="tournaments.make_baselines")  # type: ignore[untyped-decorator]
def make_baselines() -> None:
    """Build missing baselines, in one process of a host, and let them enter."""
    with (settings.STATE / "tournament-baselines.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if services.make_baselines():
            notify.notify("tournaments.sweep")


def _notify(task: str) -> None:
    """Notify a worker, at most once per `NOTIFY_AGAIN_SECONDS`: messages would pile up before those of other tasks."""
    last = _notified_at.get(task)
    if last is None or time.monotonic() >= last + NOTIFY_AGAIN_SECONDS:
        _notified_at[task] = time.monotonic()
        notify.notify(task)
