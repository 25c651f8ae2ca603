"""The end of a worker that a cluster started, when no work is left."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time

from celery.worker import state
from django.conf import settings
from django.db import connection

from workers import host_health
from workers.models import Worker
from workers.queue import anything_waits
from workers.slot_device import device_of

_LOOK_SECONDS = 2.0

log = logging.getLogger(__name__)


def end_when_idle(seconds: float) -> None:
    """End this Celery worker, as SIGTERM does, once it could not play anything for `seconds`."""
    threading.Thread(target=_watch, args=(seconds,), name="idle exit", daemon=True).start()


def _watch(seconds: float) -> None:
    idle_since = time.monotonic()
    while time.monotonic() < idle_since + seconds:
        time.sleep(min(_LOOK_SECONDS, seconds))
        if _is_needed():
            idle_since = time.monotonic()
    log.info("nothing to play for %.0f s: this worker ends", seconds)
    os.kill(os.getpid(), signal.SIGTERM)


def _is_needed() -> bool:
    """Return True while a slot plays, or may claim something, also after the check of this host that is due."""
    if state.active_requests:
        return True
    try:
        device = device_of(0) or ""
        worker = Worker(name=settings.WORKER_NAME, worker_class=settings.WORKER_CLASS, device=device)
        return host_health.may_claim_or_check() and anything_waits(worker)
    except Exception:  # the database is away; the slots wait for it, too
        log.warning("whether work waits cannot be asked", exc_info=True)
        return True
    finally:
        connection.close()
