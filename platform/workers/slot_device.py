"""Slot of this process in its Celery worker, and the slot's device."""

from __future__ import annotations

from billiard import current_process
from django.conf import settings


def slot() -> int:
    """Return the slot of this process, from 0; 0 outside a worker."""
    return int(getattr(current_process(), "index", 0))


def device_of(number: int) -> str | None:
    """Return the device of a slot, e.g. "0", or None without devices. Slots share devices if there are too few."""
    devices: list[str] = settings.WORKER_DEVICES
    return devices[number % len(devices)] if devices else None
