"""The time of the site. Whoever needs it calls `clock.now()`, so that tests can set it in one place."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone


def now() -> datetime:
    """The time now, aware, in UTC."""
    return timezone.now()
