"""The API of the curves format: a leaderboard for each threat model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from api.column_leaderboard_api import PlainApi
from competitions.board_freezes import sees_live
from competitions.models import Track
from formats.curves.board import CurvesBoard, threat_models_of
from submissions.column_leaderboard import PlainRow


class CurvesApi(PlainApi):
    """See `api.formats.ApiFormat`. `rows` are those of the first threat model."""

    board: CurvesBoard

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
