"""Columns of a leaderboard: headings that sort it, and those of its CSV file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter

from core import rounding
from evaluation.charts.chart_table import Cell
from formats.query.leaderboards.board_row_selection import BoardView
from formats.query.leaderboards.board_rows import BoardRow
from formats.query.tracks import MODEL

_LARGEST_FIRST = frozenset({"accuracy", "held", "scored"})
"""Columns whose heading sorts the largest value first."""


@dataclass(frozen=True)
class Heading:
    """Heading of a column: `sort` is the order to which it leads, `order` the present one for `aria-sort`, or ""."""

    sort: str
    order: str


def headings(view: BoardView, track_name: str) -> Mapping[str, Heading]:
    """Return the heading of each column by name. That of the sorted column reverses the order."""
    return {
        name: _heading(name, view, name in _LARGEST_FIRST or (name == "score" and track_name == MODEL))
        for name in ("team", "score", "accuracy", "held", "opponent", "time", "scored")
    }


def _heading(name: str, view: BoardView, largest_first: bool) -> Heading:
    if view.sort != name:
        return Heading(f"-{name}" if largest_first else name, "")
    return Heading(name if view.descending else f"-{name}", "descending" if view.descending else "ascending")


COLUMNS: Mapping[str, Callable[[BoardRow], Cell]] = {
    **{name: attrgetter(name) for name in ("rank", "rank_low", "rank_high", "change")},
    "team": attrgetter("team_slug"),
    "team_name": attrgetter("team"),
    "ineligible_for_prizes": attrgetter("ineligible_for_prizes"),
    "submission": attrgetter("submission"),
    "title": attrgetter("title"),
    **{name: attrgetter(name) for name in ("samples", "failures", "met", "opponents")},
    "samples_not_broken": attrgetter("held"),
    "clean_wrong": attrgetter("clean_wrong"),
    "value": lambda row: rounding.distance(row.value),
    "low": lambda row: rounding.distance(row.low),
    "high": lambda row: rounding.distance(row.high),
    "value_all": lambda row: None if row.value_all is None else rounding.distance(row.value_all),
    "worst_opponent": attrgetter("worst_opponent"),
    "median_seconds": lambda row: rounding.seconds(row.median_seconds),
    **{name: attrgetter(name) for name in ("rules", "pool", "provisional", "chosen", "tried")},
    "expected_gain": lambda row: None if row.expected_gain is None else rounding.share(row.expected_gain),
    "scored_at": lambda row: rounding.moment(row.scored_at).isoformat(),
}
"""The columns of the CSV, with the names and the precision of the API."""
