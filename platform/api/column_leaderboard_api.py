"""The API of formats whose leaderboards are tables of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from rest_framework import serializers

from accounts.models import User
from api.formats import (
    AnswerShapes,
    NewestCounts,
    RoundResult,
    SubmissionProgress,
    WithoutChallenges,
    WithoutEvaluations,
    WithoutMatches,
    only_now,
)
from competitions.board_freezes import frozen_since, sees_live
from competitions.models import Track
from rounds.models import Round
from rounds.selectors import standings
from submissions.column_leaderboard import PlainBoard, PlainRow
from submissions.models import Submission


class ColumnSerializer(serializers.Serializer[Any]):
    """A column of numbers of a leaderboard."""

    name = serializers.CharField()
    unit = serializers.CharField()
    larger_is_better = serializers.BooleanField()


class ColumnBoardSerializer(serializers.Serializer[Any]):
    """A whole leaderboard. Each row has `rank`, `team`, `submission`, and a number for each column by its name.

    While it is frozen (`frozen_since`), the public sees no rows.
    """

    columns = ColumnSerializer(many=True)
    frozen_since = serializers.DateTimeField(allow_null=True)
    rows = serializers.ListField(child=serializers.DictField())


class ColumnPlaceSerializer(serializers.Serializer[Any]):
    """An entry of a published round."""

    place = serializers.IntegerField(allow_null=True)
    team = serializers.CharField()
    score = serializers.FloatField(allow_null=True)


class ColumnScoreSerializer(serializers.Serializer[Any]):
    """The score of a submission that counts, with a number for each column by its name."""

    state = serializers.CharField()
    values = serializers.DictField()


class PlainApi(WithoutMatches, WithoutChallenges, WithoutEvaluations, NewestCounts):
    """See `api.formats.ApiFormat`."""

    board: PlainBoard
    shapes = AnswerShapes(ColumnBoardSerializer, ColumnPlaceSerializer, ColumnScoreSerializer)
    submission_fields: Mapping[str, serializers.Field[Any, Any, Any, Any]] = {}

    def submission(self, submission: Submission, *, inside: bool) -> Mapping[str, Any]:
        """Return nothing: a score is on the leaderboard."""
        return {}

    def progress(self, submission: Submission, *, inside: bool) -> SubmissionProgress:
        """Return rank and score where the submission counts; the public sees neither in a freeze, its team no rank."""
        row = self._own_row(submission, inside=inside)
        if row is None:
            return SubmissionProgress(final=self._hidden(submission, inside=inside) or self.counts_no_more(submission))
        frozen = frozen_since(submission.repository.entry.competition) is not None
        return SubmissionProgress(final=True, score=row.scored.values[0], rank=None if frozen else row.rank)

    def evaluations(self, submission: Submission, *, inside: bool) -> Sequence[Mapping[str, Any]]:
        """Return the score that counts; the public sees none in a freeze."""
        row = self._own_row(submission, inside=inside)
        return [{"state": "scored", "values": self._values(row)}] if row else []

    def leaderboard(
        self, track: Track, user: User | AnonymousUser, page: str, at: datetime | None
    ) -> Mapping[str, Any]:
        """Return the whole leaderboard on every page; while it is frozen, the public sees no rows."""
        only_now(at)
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

    def _own_row(self, submission: Submission, *, inside: bool) -> PlainRow | None:
        if self._hidden(submission, inside=inside):
            return None
        rows = self.board.rows(submission.repository.track)
        return next((row for row in rows if row.submission == submission), None)

    def _hidden(self, submission: Submission, *, inside: bool) -> bool:
        return not inside and frozen_since(submission.repository.entry.competition) is not None

    def _row(self, row: PlainRow) -> dict[str, Any]:
        return {
            "rank": row.rank,
            "team": row.team_slug,
            "submission": row.submission.pk,
            **self._values(row),
        }

    def _values(self, row: PlainRow) -> dict[str, float | None]:
        return {column.name: value for column, value in zip(self.board.columns, row.scored.values, strict=True)}
