"""Celery tasks of tournaments. Messages only wake workers: the work to do is in the database."""

from __future__ import annotations

import fcntl
import time

from celery import shared_task
from django.conf import settings

from core import worker_notifications
from formats.transfer.tournaments import services
from formats.transfer.tournaments.models import Tournament

NOTIFY_AGAIN_SECONDS = 60.0
"""Least interval of the notifications of one task by the sweeps of one process."""

_notified_at: dict[str, float] = {}
"""By task, when a sweep of this process last notified it, in `time.monotonic()`."""


@shared_task(name="tournaments.advance")  # type: ignore[untyped-decorator]
def advance(tournament: int) -> None:
    """Request what a tournament needs next, and rank its entrants."""
    services.advance(_with_rules(tournament))


@shared_task(name="tournaments.follow_up")  # type: ignore[untyped-decorator]
def follow_up(tournament: int) -> None:
    """Take the step of a tournament that follows from commits."""
    services.follow_up(_with_rules(tournament))


def _with_rules(tournament: int) -> Tournament:
    return Tournament.objects.select_related("rules__competition", "sample_set", "competition").get(pk=tournament)


@shared_task(name="tournaments.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Advance every leaderboard, from the database alone."""
    services.advance_all()
    if services.missing_baselines():
        _notify("tournaments.make_baselines")


@shared_task(name="tournaments.make_baselines")  # type: ignore[untyped-decorator]
def make_baselines() -> None:
    """Build missing baselines, in one process of a host, and let them enter."""
    with (settings.STATE / "tournament-baselines.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if services.make_baselines():
            worker_notifications.notify("tournaments.sweep")


def _notify(task: str) -> None:
    """Notify a worker, at most once per `NOTIFY_AGAIN_SECONDS`: messages would pile up before those of other tasks."""
    last = _notified_at.get(task)
    if last is None or time.monotonic() >= last + NOTIFY_AGAIN_SECONDS:
        _notified_at[task] = time.monotonic()
        worker_notifications.notify(task)
