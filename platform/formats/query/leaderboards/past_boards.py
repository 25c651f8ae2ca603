"""The leaderboard of a track at a past time, computed again from the scores that were known then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Max, Q, QuerySet

from competitions.models import Entry, Track
from formats.query.leaderboards.board_rows import BoardRow, evaluation_columns, standing_row
from formats.query.leaderboards.boards_over_time import basis_changes
from formats.query.leaderboards.evaluation_basis import counted_at, scored_rows
from formats.query.leaderboards.models import Evaluation
from formats.query.leaderboards.ranking import BoardPlace, places
from formats.query.leaderboards.submission_choices import choice_changes, submissions_tried


@dataclass(frozen=True)
class PastBoard:
    """The places of a track's leaderboard at a past time, best first; what a row shows is read for some of them.

    Submissions that were withdrawn or disqualified since then are missing. There are no rank intervals.
    """

    places: Sequence[BoardPlace]

    @property
    def highest(self) -> float:
        """The upper end of the largest interval, without models that were not broken; one query."""
        broken = Q(held__isnull=True) | Q(samples__gte=2 * F("held"))
        found = self._evaluations(self.places).filter(broken).aggregate(highest=Max("high"))["highest"]
        return float(found or 0.0)

    def rows(self, first: int = 0, last: int | None = None) -> list[BoardRow]:
        """Return the rows from the place in the list `first` up to before `last`, in one query."""
        part = self.places[first:last]
        columns = evaluation_columns(self._evaluations(part))
        return [standing_row(columns[place.evaluation] | _ranks(place)) for place in part]

    @staticmethod
    def _evaluations(places: Sequence[BoardPlace]) -> QuerySet[Evaluation]:
        return Evaluation.objects.filter(pk__in=[place.evaluation for place in places])


def board_at(track: Track, at: datetime) -> PastBoard:
    """Return the leaderboard of a track as of `at`, in a number of queries that does not depend on its rows."""
    changes = basis_changes(track, at)
    key = changes[-1].key if changes else None
    seen = counted_at(at)
    rows, tried = scored_rows(track, seen), submissions_tried(track, seen, at)
    board = places(rows, track.name, key, choice_changes(track, at), tried)
    slugs = dict(Entry.objects.filter(competition=track.competition_id).values_list("pk", "team__slug"))
    return PastBoard(sorted(board.values(), key=lambda place: (place.place, slugs[place.entry])))


def _ranks(place: BoardPlace) -> dict[str, object]:
    return {
        "rank": place.rank,
        "previous_rank": place.previous_rank,
        "rank_low": None,
        "rank_high": None,
        "separated": None,
        "provisional": place.rank is None,
        "chosen": place.chosen,
        "tried": place.tried,
    }
