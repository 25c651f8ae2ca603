"""Celery tasks of the workers that play. Messages only wake them: the work to do is in the database."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from celery import shared_task

from core import notify
from core.worker_slot import slot
from matches import kept_frames, queue, selectors
from matches.heartbeat import Heartbeat, register
from matches.worker import play_pieces
from submissions import image_collection

log = logging.getLogger(__name__)

PLAY_SECONDS = 60.0
"""Time after which a worker that also builds submissions returns to its queues."""

NOTIFY_AGAIN_SECONDS = 60.0
"""Interval of notifications while no worker is live."""

COLLECT_SECONDS = 3600.0
"""Interval at which a worker removes unused images from its host."""


@dataclass
class _Process:
    """State of this process between tasks, in `time.monotonic()`."""

    notified_at: float = -NOTIFY_AGAIN_SECONDS
    collected_at: float = -COLLECT_SECONDS


_process = _Process()


@shared_task(name="matches.play")  # type: ignore[untyped-decorator]
def play() -> None:
    """Play waiting pieces for about a minute; notify other workers while more pieces wait."""
    _collect_if_due()
    worker = register(slot())
    with Heartbeat(worker) as heartbeat:
        play_pieces(worker, heartbeat, seconds=PLAY_SECONDS)


@shared_task(name="matches.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Return the pieces of lost workers, finish matches, notify workers that have something to do.

    Workers without a recent heartbeat are notified, too: the notification shows which of them are live.
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


@shared_task(name="matches.sweep_kept_frames")  # type: ignore[untyped-decorator]
def sweep_kept_frames() -> None:
    """Remove the frames, which hold secret samples, that no audit will need."""
    if count := kept_frames.sweep():
        log.info("%d files of frames that no audit needs were removed", count)


def _collect_if_due() -> None:
    """Remove unused images here too: players are also built on hosts without a builder."""
    if time.monotonic() < _process.collected_at + COLLECT_SECONDS:
        return
    _process.collected_at = time.monotonic()
    try:
        image_collection.collect()
    except Exception:  # the host may still be able to play
        log.warning("unused images could not be removed from this host", exc_info=True)


def _notify_new_workers() -> int:
    """Return 1, but only once per `NOTIFY_AGAIN_SECONDS`: messages without a receiver pile up in the broker."""
    if time.monotonic() < _process.notified_at + NOTIFY_AGAIN_SECONDS:
        return 0
    _process.notified_at = time.monotonic()
    return 1
