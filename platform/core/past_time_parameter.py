"""A past time that an address asks for."""

from __future__ import annotations

from datetime import UTC, datetime, time

from django.utils.dateparse import parse_date, parse_datetime

from core import clock
from core.errors import Refusal

_FIRST_YEAR = 1970
"""Times before it are no times of a leaderboard, and the first ones cannot be written in every zone."""


def past_time(text: str) -> datetime | None:
    """Return the time in `text`, in UTC if it names no zone; None for an empty text and for times to come.

    Raise `Refusal` for a text that is no time.
    """
    text = text.strip()
    if not text:
        return None
    try:
        day = parse_date(text)
        at = datetime.combine(day, time()) if day else parse_datetime(text)
    except ValueError:
        at = None
    if at is None or at.year < _FIRST_YEAR:
        raise Refusal(f"the time {text} cannot be read", fix="write it as 2026-11-23 or 2026-11-23T12:00Z")
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return at if at < clock.now() else None
