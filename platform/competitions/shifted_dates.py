"""The dates of a competition's file, moved so that it begins at another time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from core.errors import Refusal

_DATED = ("freeze_windows", "rounds")
_TIMES = ("starts_at", "ends_at")


def shifted(document: Mapping[str, Any], starts_at: datetime) -> dict[str, Any]:
    """Return the parsed file with the competition, its freeze windows and its rounds moved by one length of time.

    The competition then begins at `starts_at`. Tables that are not valid stay as they are: the import names them. Raise
    `Refusal` if the file does not say when the competition begins, or a time would be out of range.
    """
    about = document.get("competition")
    begins = about.get("starts_at") if isinstance(about, Mapping) else None
    if not isinstance(about, Mapping) or not isinstance(begins, datetime) or begins.tzinfo is None:
        raise Refusal(
            "[competition] starts_at: is not a time with a zone, so no dates can be moved",
            fix="write a time like 2026-11-21T12:00:00Z, without quotes",
        )
    by = starts_at.astimezone(UTC) - begins.astimezone(UTC)

    def moved(table: Any) -> Any:
        if not isinstance(table, Mapping):
            return table
        times = {name: table[name] + by for name in _TIMES if isinstance(table.get(name), datetime)}
        return {**table, **times}

    try:
        dated = {
            key: [moved(table) for table in document[key]] if isinstance(document[key], list) else document[key]
            for key in _DATED
            if key in document
        }
        return {**document, "competition": moved(about), **dated}
    except OverflowError as error:
        raise Refusal("the dates of the file would leave the calendar", fix="choose another start") from error
