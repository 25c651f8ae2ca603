"""Columns of the CSV file of a leaderboard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter

from core import rounding
from evaluation.charts.chart_table import Cell
from formats.transfer.tournaments.boards import TransferBoardRow


def share(value: float | None) -> float | None:
    """Return a share as published, None if there is none."""
    return None if value is None else rounding.share(value)


COLUMNS: Mapping[str, Callable[[TransferBoardRow], Cell]] = {
    **{name: attrgetter(name) for name in ("rank", "rank_low", "rank_high")},
    "team": attrgetter("team_slug"),
    "team_name": attrgetter("team"),
    "ineligible_for_prizes": attrgetter("ineligible_for_prizes"),
    "baseline": attrgetter("baseline"),
    "submission": attrgetter("submission"),
    "title": attrgetter("title"),
    "score": lambda row: share(row.score),
    "low": lambda row: share(row.low),
    "high": lambda row: share(row.high),
    "raw": attrgetter("raw"),
    "worst": lambda row: share(row.worst),
    "coverage": lambda row: share(row.coverage),
    "opponents": attrgetter("opponents"),
    "median_seconds": lambda row: None if row.median_seconds is None else rounding.seconds(row.median_seconds),
    "repeated": lambda row: row.repeats.repeated,
    "changed": lambda row: row.repeats.changed,
    "inconsistent": lambda row: row.repeats.inconsistent,
    "entered_at": lambda row: rounding.moment(row.entered_at).isoformat(),
}
"""The columns of the CSV, with the names and the precision of the API."""
