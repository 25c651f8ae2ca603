"""Every way in which the site writes a time or a duration.

What people wait for is rounded up, so that waiting until the time shown is always enough. Programs get exact times.
Pages have the time zone of the reader; messages, the admin and programs have UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import ceil

from django.utils.dateformat import format as formatted
from django.utils.timezone import get_current_timezone

from core import rounding

_MINUTE = timedelta(minutes=1)

FIELD = "%Y-%m-%dT%H:%M"
"""The format of a browser's own field of a date and time."""


def to_minute(at: datetime) -> datetime:
    """Round `at` up to the minute, in UTC."""
    at = at.astimezone(UTC)
    whole = at.replace(second=0, microsecond=0)
    return whole if whole == at else whole + _MINUTE


def in_words(at: datetime) -> str:
    """Return `at` to the minute for messages: "2026-11-22 12:00 UTC"."""
    return f"{to_minute(at):%Y-%m-%d %H:%M} UTC"


def on_page(at: datetime) -> str:
    """Return `at` to the minute in the reader's zone: "22 Nov 2026, 12:00 UTC"."""
    minute = to_minute(at).astimezone(get_current_timezone())
    return f"{formatted(minute, 'j M Y, H:i')} {zone_of(minute)}"


def zone_of(at: datetime) -> str:
    """Return the short name of the zone of `at`: "UTC", "CET", or "UTC-03" for zones without one."""
    name = at.tzname() or ""
    return f"UTC{name}" if name.startswith(("+", "-")) else name


def to_second(at: datetime) -> str:
    """Return `at` to the second: "2026-11-22 12:00:30 UTC"."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def for_programs(at: datetime) -> str:
    """Return `at` to the second for HTML attributes and files: "2026-11-22T12:00:30Z"."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def day(at: datetime) -> str:
    """Return the day of `at` in the reader's zone: "22 Nov 2026"."""
    return formatted(at.astimezone(get_current_timezone()), "j M Y")


def on_axis(at: datetime, step: timedelta) -> str:
    """Return the label of a time on an axis with a tick each `step`: "12:00", "22 Nov" or "Nov 2026"."""
    if step < timedelta(days=1):
        return f"{at:%H:%M}"
    return formatted(at, "j M" if step < timedelta(weeks=26) else "M Y")


def ago(at: datetime, now: datetime) -> str:
    """Return how long ago `at` is, rounded down: "3 h ago", or its day after 30 days."""
    minutes = (now - at) // _MINUTE
    hours, days = minutes // 60, minutes // (24 * 60)
    if minutes < 1:
        return "just now"
    if hours < 1:
        return f"{minutes} min ago"
    if days < 1:
        return f"{hours} h ago"
    if days <= 30:
        return f"{days} day ago" if days == 1 else f"{days} days ago"
    return day(at)


def until(seconds: float) -> str:
    """Return the time left, rounded up to the last unit shown: "in 2 d 3 h", "in 41 min", "now"."""
    minutes = ceil(seconds / 60)
    hours = ceil(minutes / 60)
    if minutes <= 0:
        return "now"
    if minutes < 60:
        return f"in {minutes} min"
    if minutes < 24 * 60:
        return f"in {minutes // 60} h {minutes % 60} min"
    return f"in {hours // 24} d {hours % 24} h"


def duration(seconds: float) -> str:
    """Return a duration in at most two units: "40 ms", "4.3 s", "4 min 10 s", "3 days"."""
    seconds = rounding.seconds(seconds)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days = round(hours / 24)
    return f"{days} days"


def elapsed(seconds: float) -> str:
    """Return a running time in a column of fixed width: " 4:10"."""
    return f"{int(seconds) // 60:2d}:{int(seconds) % 60:02d}"
