"""Pages of a leaderboard: which rows are shown, and in which order. Pure functions of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from formats.query.leaderboards.board_rows import BoardRow
from formats.query.leaderboards.ranking import COMPARED

PAGE_ROWS = 50
"""Rows on a page of a leaderboard."""


@dataclass(frozen=True)
class BoardFreeze:
    """Start and reason of the freeze of a leaderboard."""

    since: datetime
    reason: str


@dataclass(frozen=True)
class BoardPage:
    """Page `number` of `pages`, from 1, of a leaderboard of `total` rows, of `teams` without a filter.

    `highest` is the upper end of the largest interval, without models that were not broken. `frozen` is None where the
    board is live. `at` is the time of a past board, None for the current one.
    """

    rows: Sequence[BoardRow]
    number: int
    pages: int
    total: int
    frozen: BoardFreeze | None = None
    highest: float = 0.0
    compared: int = COMPARED
    """Number of ranked rows that are compared with each other."""
    teams: int = 0
    at: datetime | None = None


LONGEST_TEXT = 80

SHOWN: dict[str, Callable[[BoardRow], bool]] = {
    "ranked": lambda row: row.rank is not None,
    "prizes": lambda row: not row.ineligible_for_prizes,
}
"""Filters by name."""

_KEYS: dict[str, Callable[[BoardRow], Any]] = {
    "team": lambda row: row.team.casefold(),
    "score": lambda row: row.value,
    "accuracy": lambda row: row.clean_accuracy,
    "held": lambda row: row.failures / row.tries if row.tries else None,
    "opponent": lambda row: row.worst_opponent.casefold(),
    "time": lambda row: row.median_seconds,
    "scored": lambda row: row.scored_at,
}
SORTS = frozenset(_KEYS)
"""Names of the columns that a leaderboard can be sorted by, besides the rank."""


@dataclass(frozen=True)
class BoardView:
    """The rows whose team or title contains `text` and that the filter `show` passes, by the column `sort`.

    The default is the whole leaderboard by rank. `descending` does not apply to the order by rank.
    """

    sort: str = ""
    descending: bool = False
    text: str = ""
    show: str = ""

    @property
    def whole(self) -> bool:
        """Whether it is the whole leaderboard by rank."""
        return not (self.sort or self.text or self.show)


WHOLE = BoardView()


def view_of(*, sort: str = "", text: str = "", show: str = "") -> BoardView:
    """Return the view with these names, as in an address: `sort` begins with "-" for descending order.

    Unknown names select the default.
    """
    column = sort.removeprefix("-")
    return BoardView(
        sort=column if column in SORTS else "",
        descending=sort.startswith("-"),
        text=text.strip()[:LONGEST_TEXT],
        show=show if show in SHOWN else "",
    )


def seen_through(view: BoardView, rows: Iterable[BoardRow]) -> Sequence[BoardRow]:
    """Return the rows of a view. Rows without a value in the sorted column come last; equal rows stay by rank."""
    part = view.text.casefold()
    kept = [row for row in rows if part in row.team.casefold() or part in row.title.casefold()]
    if view.show:
        kept = [row for row in kept if SHOWN[view.show](row)]
    if not view.sort:
        return kept
    key = _KEYS[view.sort]
    known = [row for row in kept if key(row) is not None]
    return sorted(known, key=key, reverse=view.descending) + [row for row in kept if key(row) is None]
