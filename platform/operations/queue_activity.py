"""When workers last took a task of a queue: beat sends one to each of these queues at least twice a minute."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from core import clock, optional_cache

WATCHED_QUEUES: Mapping[str, str] = {
    "files": "uploaded data sets are not prepared, code is not released, and scores are not checked at night",
    "webhooks": "webhooks are not sent",
}
"""Queues without which a site still scores, each with what does not happen while nobody takes its tasks.

The queue `default` is not among them: `workers.selectors.last_sweep` says the same of it.
"""

_KEY = "operations.last-task.{}"


def record(queue: str) -> None:
    """Record that a worker has taken a task of `queue`, if it is watched."""
    if queue in WATCHED_QUEUES:
        optional_cache.put(_KEY.format(queue), clock.now().isoformat(), None)


def last_task(queue: str) -> datetime | None:
    """Return when a worker last took a task of `queue`; None if the cache knows of none."""
    stored = optional_cache.get(_KEY.format(queue))
    return datetime.fromisoformat(stored) if stored else None
