"""The answers of the API in the query format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from api.formats import RoundResult
from competitions.board_freezes import sees_live
from competitions.models import Track
from formats.query.api_serializers import (
    EvaluationSerializer,
    QueryBoardSerializer,
    QueryPlaceSerializer,
    WarningSerializer,
)
from formats.query.leaderboards.visibility import board, evaluation_of, public_evaluation_of
from rounds.models import Round
from rounds.selectors import standings
from submissions.models import Submission


class QueryApi:
    """See `api.formats.ApiFormat`."""

    submission_fields: Sequence[str] = ("evaluation",)

    def submission(self, submission: Submission, *, inside: bool) -> Mapping[str, Any]:
        """Return the newest evaluation; while leaderboards are frozen, the public sees the one before the freeze."""
        evaluation = evaluation_of(submission) if inside else public_evaluation_of(submission)
        return {"evaluation": EvaluationSerializer(evaluation).data if evaluation else None}

    def leaderboard(self, track: Track, user: User | AnonymousUser, page: str) -> Mapping[str, Any]:
        """Return a page of at most 100 rows."""
        shown = board(track, page, frozen=not sees_live(user, track.competition))
        return QueryBoardSerializer(shown).data

    def round_result(self, published: Round) -> RoundResult:
        """Return the places, and the eliminated attacks that came nearer than those that counted."""
        warnings = published.warnings.select_related("attack", "model")
        places = {name: QueryPlaceSerializer(rows, many=True).data for name, rows in standings(published).items()}
        return RoundResult(places, WarningSerializer(warnings, many=True).data)
