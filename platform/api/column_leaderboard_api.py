"""The API of formats whose leaderboards are tables of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from api.formats import RoundResult
from competitions.board_freezes import frozen_since, sees_live
from competitions.models import Track
from rounds.models import Round
from rounds.selectors import standings
from submissions.column_leaderboard import PlainBoard, PlainRow
from submissions.models import Submission


class PlainApi:
    """See `api.formats.ApiFormat`."""

    submission_fields: Sequence[str] = ()

    def __init__(self, board: PlainBoard) -> None:
        self.board = board

    def submission(self, submission: Submission, *, inside: bool) -> Mapping[str, Any]:
        """Return nothing: a score is on the leaderboard."""
        return {}

    def leaderboard(self, track: Track, user: User | AnonymousUser, page: str) -> Mapping[str, Any]:
        """Return the whole leaderboard on every page; while it is frozen, the public sees no rows."""
        live = sees_live(user, track.competition)
        return {
            "columns": [
                {"name": each.name, "unit": each.unit, "larger_is_better": each.larger_is_better}
                for each in self.board.columns
            ],
            "frozen_since": None if live else frozen_since(track.competition),
            "rows": [self._row(row) for row in self.board.rows(track)] if live else [],
        }

    def round_result(self, published: Round) -> RoundResult:
        """Return the places."""
        return RoundResult(
            {
                name: [{"place": row.place, "team": row.team_slug, "score": row.value} for row in rows]
                for name, rows in standings(published).items()
            }
        )

    def _row(self, row: PlainRow) -> dict[str, Any]:
        values = {column.name: value for column, value in zip(self.board.columns, row.scored.values, strict=True)}
        return {"rank": row.rank, "team": row.team_slug, "submission": row.submission.pk, **values}
