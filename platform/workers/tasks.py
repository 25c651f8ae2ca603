"""Celery tasks of the workers. Messages only wake them: the work to do is in the database."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from celery import shared_task

from core import clock, optional_cache, worker_notifications
from workers import queue
from workers.extension_points import housekeeping
from workers.heartbeat import WorkerHeartbeat, register
from workers.selectors import LAST_SWEEP, live_workers, workers_without_heartbeat
from workers.slot_device import slot
from workers.worker_loop import play as play_work

log = logging.getLogger(__name__)

PLAY_SECONDS = 60.0
"""Time after which a worker that also builds submissions returns to its queues."""

NOTIFY_AGAIN_SECONDS = 60.0
"""Interval of notifications while no worker is live."""


@dataclass
class _WorkerProcessState:
    """State of this process between tasks, in `time.monotonic()`."""

    notified_at: float = -NOTIFY_AGAIN_SECONDS


_process = _WorkerProcessState()


@shared_task(name="workers.play")  # type: ignore[untyped-decorator]
def play() -> None:
    """Play waiting work for about a minute; notify other workers while more waits."""
    try:
        housekeeping.answers()
    except Exception:  # the host may still be able to play
        log.warning("what is left of earlier work could not be removed from this host", exc_info=True)
    worker = register(slot())
    with WorkerHeartbeat(worker) as heartbeat:
        play_work(worker, heartbeat, seconds=PLAY_SECONDS)


@shared_task(name="workers.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Take needless work from workers, return that of lost ones to the queue, and notify those with something to do.

    Workers without a recent heartbeat are notified, too: the notification shows which of them are live.
    """
    queue.take_back()
    queue.expire()
    notifications = workers_without_heartbeat()
    if queue.anything_waits():
        notifications += queue.idle_workers()
        if not notifications and not live_workers().exists():
            notifications = _notify_new_workers()
    for _ in range(notifications):
        worker_notifications.notify("workers.play")
    optional_cache.put(LAST_SWEEP, clock.now().isoformat(), None)


def _notify_new_workers() -> int:
    """Return 1, but only once per `NOTIFY_AGAIN_SECONDS`: messages without a receiver pile up in the broker."""
    if time.monotonic() < _process.notified_at + NOTIFY_AGAIN_SECONDS:
        return 0
    _process.notified_at = time.monotonic()
    return 1
