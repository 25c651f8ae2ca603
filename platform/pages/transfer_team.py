"""What a team sees in the transfer format: its rows on the leaderboards, and whether submissions of 2017 run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from competitions.models import Entry
from core.errors import Fault
from tournaments.boards import BoardRow, rows_of_entry
from tournaments.player_builds import has_legacy_environment


@dataclass(frozen=True)
class TeamScores:
    """The rows of a team: by the name of the track, and by the submission that counts."""

    of_track: Mapping[str, BoardRow]
    of_submission: Mapping[int, BoardRow]


def runs_2017() -> bool:
    """Return whether the site runs submissions of 2017."""
    try:
        return has_legacy_environment()
    except Fault:  # a push reports it
        return False


def scores_of(entry: Entry, *, hidden: bool) -> TeamScores:
    """Return the rows of a team on the leaderboards, none if they are `hidden`."""
    rows = {} if hidden else rows_of_entry(entry)
    return TeamScores(rows, {row.submission: row for row in rows.values() if row.submission is not None})
