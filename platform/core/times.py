"""Every way in which the site writes a time or a duration, in UTC.

What people wait for is rounded up, so that waiting until the time shown is always enough. Programs get exact times.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import ceil

from core import rounding

_MINUTE = timedelta(minutes=1)


def to_minute(at: datetime) -> datetime:
    """Round `at` up to the minute, in UTC."""
    at = at.astimezone(UTC)
    whole = at.replace(second=0, microsecond=0)
    return whole if whole == at else whole + _MINUTE


def in_words(at: datetime) -> str:
    """Return `at` to the minute for messages: "2026-11-22 12:00 UTC"."""
    return f"{to_minute(at):%Y-%m-%d %H:%M} UTC"


def on_page(at: datetime) -> str:
    """Return `at` to the minute for pages: "22 Nov 2026, 12:00 UTC"."""
    minute = to_minute(at)
    return f"{minute.day} {minute:%b %Y, %H:%M} UTC"


def to_second(at: datetime) -> str:
    """Return `at` to the second: "2026-11-22 12:00:30 UTC"."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def for_programs(at: datetime) -> str:
    """Return `at` to the second for HTML attributes and files: "2026-11-22T12:00:30Z"."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def day(at: datetime) -> str:
    """Return the day of `at`: "22 Nov 2026"."""
    at = at.astimezone(UTC)
    return f"{at.day} {at:%b %Y}"


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
        return f"{days} day{'s' if days > 1 else ''} ago"
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
    return f"{round(hours / 24)} days"


def elapsed(seconds: float) -> str:
    """Return a running time in a column of fixed width: " 4:10"."""
    return f"{int(seconds) // 60:2d}:{int(seconds) % 60:02d}"
