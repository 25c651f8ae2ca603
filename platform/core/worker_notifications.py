"""Notifications that wake a worker. The database has the state, so a lost notification costs time, never work.

Tasks are named by strings, since an app's tasks import what notifies them. No app names a higher app's task: it sends a
signal, and the higher app notifies its own task.
"""

from __future__ import annotations

import logging

from celery import current_app
from django.db import transaction

log = logging.getLogger(__name__)


def notify(task: str, **keys: int) -> None:
    """Send the task named `task` ("workers.play") with `keys` after the current transaction commits."""
    transaction.on_commit(lambda: _send(task, keys))


def _send(task: str, keys: dict[str, int]) -> None:
    try:
        current_app.send_task(task, kwargs=keys, ignore_result=True)
    except Exception:  # an unreachable broker must not fail committed work
        log.warning("the broker cannot be reached: %s %s waits for the next sweep", task, keys, exc_info=True)
