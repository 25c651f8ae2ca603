"""Queries on workers and their hosts."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from core import clock, optional_cache
from workers.models import Host, Worker
from workers.worker_name import host_of

HEARTBEAT_TIMEOUT = timedelta(seconds=60)
"""A worker without a heartbeat for this long is not live."""

LOST_IS_SHOWN = timedelta(hours=24)
"""How long the status page lists a worker without a heartbeat. A cluster starts many, each under a name of its own.

So long a host that does not check itself is out of service, too: afterwards it is gone, and no check would end that.
"""

GONE_AFTER = timedelta(hours=1)
"""A worker without a heartbeat for this long is not notified any more."""

MAX_SKEW = 3.0
"""Difference between the clocks of a host and the database, in seconds, above which the status page warns."""


LAST_SWEEP = "workers.last-sweep"
"""Key of the time of the last sweep in the cache."""


def last_sweep() -> datetime | None:
    """Return when a scorer last swept, as beat asks it to every 10 s; None if the cache knows of none."""
    stored = optional_cache.get(LAST_SWEEP)
    return datetime.fromisoformat(stored) if stored else None


def live_workers() -> QuerySet[Worker]:
    """Return the workers with a recent heartbeat that were not stopped."""
    return Worker.objects.filter(stopped_at=None, last_seen_at__gte=clock.database_now() - HEARTBEAT_TIMEOUT)


def recent_workers() -> QuerySet[Worker]:
    """Return the live workers, and those that were lost in the last 24 hours."""
    return Worker.objects.filter(stopped_at=None, last_seen_at__gte=clock.database_now() - LOST_IS_SHOWN)


def gpu_worker_is_live() -> bool:
    """Return True if a worker with a GPU is live."""
    return live_workers().filter(worker_class=Worker.Class.GPU).exists()


def workers_without_heartbeat() -> int:
    """Return how many workers are late with their heartbeat by half the timeout or more, but by less than an hour."""
    now = clock.database_now()
    return Worker.objects.filter(
        stopped_at=None, last_seen_at__gte=now - GONE_AFTER, last_seen_at__lt=now - HEARTBEAT_TIMEOUT / 2
    ).count()


def live_hosts(*, gpu: bool = False) -> set[str]:
    """Return the hosts of the live workers, with `gpu` of those that have a GPU, that are in service."""
    live = live_workers().filter(worker_class=Worker.Class.GPU) if gpu else live_workers()
    out = {host.name for host in hosts_out_of_service()}
    return {host_of(name) for name in live.values_list("name", flat=True)} - out


def of_drained_hosts(worker: str) -> Q:
    """Return which work hosts claimed before they were drained: its results are to be rejudged.

    They commit what they hold then, so the end of its play does not matter. `worker` is the field that names the
    worker: "worker__name".
    """
    until = {host.name: host.doubtful_until for host in Host.objects.all() if host.doubtful_until is not None}
    names = defaultdict(list)
    for name in Worker.objects.values_list("name", flat=True) if until else ():
        names[host_of(name)].append(name)
    found = Q(pk__in=[])
    for host, last in until.items():
        # one list for a host: the jobs of a cluster leave many workers of other names
        found |= Q(**{f"{worker}__in": names[host]}, claimed_at__lte=last)
    return found


def hosts_out_of_service() -> list[Host]:
    """Return the hosts that are out of service, by name, without those whose check has been due for a day."""
    since = clock.database_now() - LOST_IS_SHOWN
    return list(Host.objects.filter(Q(check_due_at=None) | Q(check_due_at__gte=since), out_since__isnull=False))
