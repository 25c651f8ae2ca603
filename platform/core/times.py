"""Times as people read them in messages, pages and e-mails. Always UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_MINUTE = timedelta(minutes=1)


def to_minute(at: datetime) -> datetime:
    """Return the first whole minute, in UTC, that is not before `at`: nobody who waits until then comes too early."""
    at = at.astimezone(UTC)
    whole = at.replace(second=0, microsecond=0)
    return whole if whole == at else whole + _MINUTE


def in_words(at: datetime) -> str:
    """Return `at` to the minute, as `to_minute` rounds: "2026-11-22 12:00 UTC"."""
    return f"{to_minute(at):%Y-%m-%d %H:%M} UTC"
