"""The place of this process among those of its Celery worker, and the device that belongs to it."""

from __future__ import annotations

from billiard import current_process
from django.conf import settings


def slot() -> int:
    """From 0; 0 in a process that is no worker's."""
    return int(getattr(current_process(), "index", 0))


def device_of(number: int) -> str | None:
    """The device of a slot, one of its own as long as there are enough, e.g. "0"; None on a host without any."""
    devices: list[str] = settings.WORKER_DEVICES
    return devices[number % len(devices)] if devices else None
