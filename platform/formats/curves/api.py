"""The API of the curves format: a leaderboard for each threat model, and what is best known of released models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from api.column_leaderboard_api import PlainApi
from competitions.board_freezes import sees_live
from competitions.models import Track
from formats.curves.best_known.history import best_known
from formats.curves.best_known.json_values import as_values
from formats.curves.best_known.released_models import released_entries
from formats.curves.board import CurvesBoard, threat_models_of
from submissions.column_leaderboard import PlainRow
from submissions.models import Submission


class CurvesApi(PlainApi):
    """See `api.formats.ApiFormat`. `rows` are those of the first threat model."""

    board: CurvesBoard
    submission_fields = ("best_known",)

    def submission(self, submission: Submission, *, inside: bool) -> Mapping[str, Any]:
        """Return what is best known of a submission in each round in which it is released."""
        return {"best_known": [as_values(best_known(each)) for each in released_entries(submission)]}

    def leaderboard(self, track: Track, user: User | AnonymousUser, page: str) -> Mapping[str, Any]:
        live = sees_live(user, track.competition)
        boards = [
            {
                "threat_model": each.key, "knowledge": each.knowledge, "goal": str(each.goal), "norm": str(each.norm),
                "budget": each.budget,
                "rows": [self._row(row) for row in self.board.rows_under(track, each)] if live else [],
            }
            for each in threat_models_of(track.competition)
        ]  # fmt: skip
        return {**super().leaderboard(track, user, page), "threat_models": boards}

    def _row(self, row: PlainRow) -> dict[str, Any]:
        """Return a row; a distance is null where most images have no adversarial."""
        values = super()._row(row)
        return {name: None if value == math.inf else value for name, value in values.items()}
