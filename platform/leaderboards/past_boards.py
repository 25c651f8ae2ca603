"""The leaderboard of a track at a past time, computed again from the scores that were known then."""

from __future__ import annotations

from datetime import datetime

from competitions.models import SampleSet, Track
from competitions.selectors import imported_sets
from leaderboards.board_rows import BoardRow, evaluation_columns, standing_row
from leaderboards.evaluation_basis import counted_at, opposing_pools, scored_rows
from leaderboards.models import Evaluation
from leaderboards.ranking import BasisKey, Place, places


def rows_at(track: Track, at: datetime) -> list[BoardRow]:
    """Return the rows of the track's leaderboard as of `at`, in a number of queries that does not depend on theirs.

    Submissions that were withdrawn or disqualified since then are missing. There are no rank intervals.
    """
    board = places(scored_rows(track, counted_at(at)), track.name, _key_at(track, at)).values()
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


def _key_at(track: Track, at: datetime) -> BasisKey | None:
    """Return the key of the basis in force at `at`: the newest pool, rules and validation samples of that time."""
    pool = opposing_pools(track).filter(made_at__lte=at).values_list("pk", flat=True).first()
    versions = track.competition.rules_versions.filter(created_at__lte=at).order_by("-version")
    rules = versions.values_list("pk", flat=True).first()
    sets = imported_sets(track.competition).filter(purpose=SampleSet.Purpose.VALIDATION, imported_at__lte=at)
    samples = sets.order_by("-pk").values_list("pk", flat=True).first()
    return (pool, rules, samples) if pool and rules and samples else None
