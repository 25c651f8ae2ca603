"""Times that can be planned: those that every page can write, rounded to the minute and in every zone.

The last ones of the calendar, as in 9999-12-31T23:59:59Z for "never", and the first ones leave it by that.
"""

from __future__ import annotations

from datetime import UTC, datetime

from core.errors import Refusal

_FIRST, _END = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


def require_in_calendar(*moments: datetime) -> None:
    """Raise `Refusal` for a time before the year 1970 or after the year 8999."""
    for at in moments:
        if not _FIRST <= at < _END:
            raise Refusal(
                f"the year {at.year} is out of range", fix=f"choose one from {_FIRST.year} to {_END.year - 1}"
            )
