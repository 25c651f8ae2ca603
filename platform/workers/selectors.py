"""Queries on workers and their hosts."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import QuerySet

from core import clock
from workers.models import Host, Worker

HEARTBEAT_TIMEOUT = timedelta(seconds=60)
"""A worker without a heartbeat for this long is not live."""

GONE_AFTER = timedelta(hours=1)
"""A worker without a heartbeat for this long is not notified any more."""

MAX_SKEW = 3.0
"""Difference between the clocks of a host and the database, in seconds, above which the status page warns."""


def live_workers() -> QuerySet[Worker]:
    """Return the workers with a recent heartbeat."""
    return Worker.objects.filter(last_seen_at__gte=clock.database_now() - HEARTBEAT_TIMEOUT)


def gpu_worker_is_live() -> bool:
    """Return True if a worker with a GPU is live."""
    return live_workers().filter(worker_class=Worker.Class.GPU).exists()


def workers_without_heartbeat() -> int:
    """Return how many workers are late with their heartbeat by half the timeout or more, but by less than an hour."""
    now = clock.database_now()
    return Worker.objects.filter(
        last_seen_at__gte=now - GONE_AFTER, last_seen_at__lt=now - HEARTBEAT_TIMEOUT / 2
    ).count()


def hosts_out_of_service() -> list[Host]:
    """Return the hosts that are out of service, by name."""
    return list(Host.objects.filter(out_since__isnull=False))
