"""Heartbeats of a worker process, for itself and for what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from core import clock, worker_notifications
from core.errors import Fault
from workers import lease, services
from workers.calibration import calibration, measure_again
from workers.models import Worker
from workers.slot_device import device_of

RECORDED_EACH = 3
"""Beats of which one records that the worker is seen: in a quarter of `workers.selectors.HEARTBEAT_TIMEOUT`.

Its leases are renewed with every beat. With 2,000 workers, more rows of workers would be written than of work.
"""


@dataclass
class _ProcessStart:
    started_at: datetime | None = None


_process = _ProcessStart()


def register(number: int) -> Worker:
    """Record this process as the worker in slot `number`, and its speed, measured when it is due; return its row."""
    _process.started_at = _process.started_at or clock.database_now()
    measure_again()
    return services.record_worker(
        name=_name(number),
        worker_class=settings.WORKER_CLASS,
        device=device_of(number) or "",
        calibration=calibration(),
        device_calibration=_device_calibration(number),
        started_at=_process.started_at,
    )


def record_start(slots: int) -> None:
    """Record that this worker of so many slots starts. Each slot registers with its first task, which is sent here."""
    services.record_start(_names(slots))
    for _ in range(slots):
        worker_notifications.notify("workers.play")


def record_stop(slots: int) -> None:
    """Record that this worker of so many slots is stopped in order."""
    services.record_stop(_names(slots))


def _names(slots: int) -> list[str]:
    return [_name(number) for number in range(slots)]


def _name(number: int) -> str:
    job = f"{settings.WORKER_JOB}." if settings.WORKER_JOB else ""
    return f"{settings.WORKER_NAME}/{job}{number}"


def _device_calibration(number: int) -> float | None:
    """Return the factor of the GPU of a slot; None without one, or where `host_health` will find why it has none."""
    try:
        return calibration(gpu=True) if device_of(number) is not None else None
    except Fault:
        return None


class WorkerHeartbeat(lease.Heartbeat):
    """The heartbeat of a worker process that plays."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self._worker = worker
        self._beats = 0

    def beat(self) -> None:
        """Record that the worker is seen, if it is due, and renew the leases of what it holds."""
        if self._beats % RECORDED_EACH == 0:
            services.record_heartbeat(self._worker, *clock.compare())
        self._beats += 1
        super().beat()
