"""The leaderboard of a track at a past time, computed again from the scores that were known then."""

from __future__ import annotations

from datetime import datetime

from competitions.models import Track
from leaderboards.board_rows import BoardRow, evaluation_columns, standing_row
from leaderboards.evaluation_basis import counted_at, scored_rows
from leaderboards.history import basis_changes
from leaderboards.models import Evaluation
from leaderboards.ranking import Place, places


def rows_at(track: Track, at: datetime) -> list[BoardRow]:
    """Return the rows of the track's leaderboard as of `at`, in a number of queries that does not depend on theirs.

    Submissions that were withdrawn or disqualified since then are missing. There are no rank intervals.
    """
    changes = basis_changes(track, at)
    key = changes[-1].key if changes else None
    board = places(scored_rows(track, counted_at(at)), track.name, key).values()
    columns = evaluation_columns(Evaluation.objects.filter(pk__in=[place.evaluation for place in board]))
    shown = sorted(board, key=lambda place: (place.place, columns[place.evaluation]["team_slug"]))
    return [standing_row(columns[place.evaluation] | _ranks(place)) for place in shown]


def _ranks(place: Place) -> dict[str, object]:
    return {
        "rank": place.rank,
        "previous_rank": place.previous_rank,
        "rank_low": None,
        "rank_high": None,
        "separated": None,
        "provisional": place.rank is None,
    }
