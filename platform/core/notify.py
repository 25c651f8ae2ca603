"""Wake a worker. The database is the truth: a ring that is lost costs time until the next sweep, never work.

Tasks are rung by name, so that a lower app can wake a higher one without importing it.
"""

from __future__ import annotations

import logging

from celery import current_app
from django.db import transaction

log = logging.getLogger(__name__)


def notify(task: str, **keys: int) -> None:
    """Send the task named `task` ("matches.play") with `keys` once the transaction at hand is committed."""
    transaction.on_commit(lambda: _send(task, keys))


def _send(task: str, keys: dict[str, int]) -> None:
    try:
        current_app.send_task(task, kwargs=keys, ignore_result=True)
    except Exception:  # a broker that is away must not fail what is already committed
        log.warning("the broker is away: %s %s waits for the next sweep", task, keys, exc_info=True)
