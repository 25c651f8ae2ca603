"""The tasks of the players' workers. Messages only wake them: what is to be done stands in the database."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import datetime

from celery import shared_task
from django.conf import settings

from core import clock, notify
from core.worker_slot import device_of, slot
from matches import engine_adapter, queue, selectors, services
from matches.heartbeat import Heartbeat
from matches.models import Worker
from matches.worker import play_pieces
from submissions import image_collection

log = logging.getLogger(__name__)

PLAY_SECONDS = 60.0
"""A worker that also builds submissions looks up from the board this often."""

NOTIFY_AGAIN_SECONDS = 60.0
"""How often a ring is repeated while no worker is there to hear it."""

COLLECT_SECONDS = 3600.0
"""How often a worker that plays removes from its host what no player needs any more."""


@dataclass
class _Process:
    """What this process remembers from one task to the next (all but `started_at` in `time.monotonic()`)."""

    started_at: datetime | None = None
    rung_at: float = -NOTIFY_AGAIN_SECONDS
    collected_at: float = -COLLECT_SECONDS


_process = _Process()


@shared_task(name="matches.play")  # type: ignore[untyped-decorator]
def play() -> None:
    """Play waiting pieces for about a minute; others are woken as long as more of them wait."""
    _collect_now_and_then()
    worker = register(slot())
    with Heartbeat(worker) as heartbeat:
        play_pieces(worker, heartbeat, seconds=PLAY_SECONDS)


@shared_task(name="matches.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Take back the pieces of lost workers, end what is over, wake workers that have something to do.

    Workers that were quiet for a while are called, too: so it is seen which of them still live.
    """
    queue.expire()
    queue.finish_played()
    queue.fail_given_up()
    notifications = selectors.workers_without_heartbeat()
    if selectors.waiting().exists():
        notifications += selectors.idle_workers()
        if not notifications and not selectors.live_workers().exists():
            notifications = _notify_new_workers()
    for _ in range(notifications):
        notify.notify("matches.play")


def _collect_now_and_then() -> None:
    """Players are built on the hosts that play them, too, where no builder may ever look."""
    if time.monotonic() < _process.collected_at + COLLECT_SECONDS:
        return
    _process.collected_at = time.monotonic()
    try:
        image_collection.collect()
    except Exception:  # a host that cannot be tidied may still be able to play
        log.warning("nothing was removed from this host", exc_info=True)


def _notify_new_workers() -> int:
    """1, but not more often than `NOTIFY_AGAIN_SECONDS` says: rings that nobody hears pile up in the broker."""
    if time.monotonic() < _process.rung_at + NOTIFY_AGAIN_SECONDS:
        return 0
    _process.rung_at = time.monotonic()
    return 1


def register(number: int) -> Worker:
    """The row of the worker process in slot `number`."""
    _process.started_at = _process.started_at or clock.database_now()
    return services.record_worker(
        name=f"{settings.WORKER_NAME}/{number}",
        worker_class=settings.WORKER_CLASS,
        device=device_of(number) or "",
        calibration=engine_adapter.calibration(),
        started_at=_process.started_at,
    )
