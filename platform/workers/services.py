"""Services of workers: record them and their heartbeats."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from core import clock
from workers.models import Worker


def record_worker(
    *,
    name: str,
    worker_class: str,
    device: str,
    calibration: float,
    started_at: datetime,
    device_calibration: float | None = None,
) -> Worker:
    """Create or update the row of a worker process; return it."""
    seen_at, skew = clock.compare()
    worker, _ = Worker.objects.update_or_create(
        name=name,
        defaults={
            "worker_class": worker_class,
            "device": device,
            "calibration": calibration,
            "device_calibration": device_calibration,
            "started_at": started_at,
            "last_seen_at": seen_at,
            "stopped_at": None,
            "clock_skew": skew,
        },
    )
    return worker


def record_heartbeat(worker: Worker, seen_at: datetime, skew: float) -> None:
    """Record a heartbeat of a worker process and the skew of its host's clock."""
    Worker.objects.filter(pk=worker.pk).update(last_seen_at=seen_at, stopped_at=None, clock_skew=skew)


def record_start(names: Collection[str]) -> None:
    """Take the mark of a stop from these workers, which start again: the sweep notifies those that are late."""
    Worker.objects.filter(name__in=names).update(stopped_at=None)


def record_stop(names: Collection[str]) -> None:
    """Record that these workers were stopped in order, so that nobody misses them."""
    Worker.objects.filter(name__in=names).update(stopped_at=clock.database_now())
