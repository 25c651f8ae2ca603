"""From scored submissions to the places of a leaderboard: a pure function of values."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from leaderboards.standings import ranks

CHANGE_OVER = timedelta(hours=24)
"""How far before the newest score of a track the rank lies that a rank change is measured from."""


class Scored(NamedTuple):
    """A scored evaluation of a submission that counts (see `leaderboards.selectors.counting`).

    `submission` and `evaluation` are numbers that grow with time; `entry` is whose they are.
    """

    entry: int
    submission: int
    evaluation: int
    scored_at: datetime
    value: float


class Place(NamedTuple):
    """One row of a board; `previous_rank` is None where the entry had no score then."""

    entry: int
    evaluation: int
    rank: int
    previous_rank: int | None


def places(rows: Iterable[Scored], kind: str) -> dict[int, Place]:
    """The board of the track `kind` by entry, from rows in any order.

    Of each entry the newest scored submission counts, and of that its newest evaluation.
    """
    rows = list(rows)
    if not rows:
        return {}
    before = max(row.scored_at for row in rows) - CHANGE_OVER
    counting = _counting(rows)
    now = _ranks(counting, kind)
    then = _ranks(_counting(row for row in rows if row.scored_at <= before), kind)
    return {
        entry: Place(entry, row.evaluation, rank=now[entry], previous_rank=then.get(entry))
        for entry, row in counting.items()
    }


def _counting(rows: Iterable[Scored]) -> dict[int, Scored]:
    chosen: dict[int, Scored] = {}
    for row in rows:
        rival = chosen.get(row.entry)
        if rival is None or (row.submission, row.evaluation) > (rival.submission, rival.evaluation):
            chosen[row.entry] = row
    return chosen


def _ranks(counting: dict[int, Scored], kind: str) -> dict[int, int]:
    return ranks({entry: row.value for entry, row in counting.items()}, kind)
