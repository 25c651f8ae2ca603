"""Format times for messages, pages and e-mails, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_MINUTE = timedelta(minutes=1)


def to_minute(at: datetime) -> datetime:
    """Round `at` up to the minute, in UTC, so that waiting until the shown time is always enough."""
    at = at.astimezone(UTC)
    whole = at.replace(second=0, microsecond=0)
    return whole if whole == at else whole + _MINUTE


def in_words(at: datetime) -> str:
    """Return `at` to the minute, as `to_minute` rounds: "2026-11-22 12:00 UTC"."""
    return f"{to_minute(at):%Y-%m-%d %H:%M} UTC"
