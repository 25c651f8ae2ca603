"""The API of the curves format: a leaderboard for each threat model, and what is best known of released models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from rest_framework import serializers

from accounts.models import User
from api.column_leaderboard_api import ColumnBoardSerializer, ColumnPlaceSerializer, PlainApi
from api.formats import AnswerShapes, SubmissionProgress
from api.rounded_fields import DistanceField, ShareField
from api.serializers import AnswerSerializer
from competitions.board_freezes import sees_live
from competitions.models import Track
from formats.curves.best_known.best_known_as_json import as_values
from formats.curves.best_known.best_known_distances import best_known
from formats.curves.best_known.released_models import released_entries
from formats.curves.models import Benchmark
from formats.curves.requests_and_scores import newest_benchmarks
from formats.curves.threat_model_boards import CurvesBoard, threat_models_of
from submissions.column_leaderboard import PlainRow
from submissions.models import Submission


class BenchmarkSerializer(AnswerSerializer[Benchmark]):
    """An attack of the rules against a submission. The numbers are null before it is played.

    `median_distance` is null, too, where most images have no adversarial. `reason` says why the submission failed.
    """

    round = serializers.IntegerField(source="round.number", default=None, allow_null=True)
    rules = serializers.IntegerField(source="rules.version")
    sample_set = serializers.CharField(source="sample_set.name")
    accuracy = ShareField(allow_null=True)
    median_distance = DistanceField(allow_null=True)

    class Meta:
        model = Benchmark
        fields = (
            *("state", "attack", "goal", "norm", "knowledge", "queries", "rules", "sample_set", "round"),
            *("accuracy", "median_distance", "most_queries", "reason", "played_at"),
        )


class ThreatModelBoardSerializer(serializers.Serializer[Any]):
    """The leaderboard under one threat model."""

    threat_model = serializers.CharField()
    knowledge = serializers.CharField()
    goal = serializers.CharField()
    norm = serializers.CharField()
    budget = serializers.FloatField()
    rows = serializers.ListField(child=serializers.DictField())


class CurvesBoardSerializer(ColumnBoardSerializer):
    """The leaderboards of a track; `rows` are those of the first threat model."""

    threat_models = ThreatModelBoardSerializer(many=True)


_GIVEN_UP = "Its benchmark was given up after platform errors. It counts once an organiser replays it."


class CurvesApi(PlainApi):
    """See `api.formats.ApiFormat`. `rows` are those of the first threat model."""

    board = CurvesBoard()
    shapes = AnswerShapes(CurvesBoardSerializer, ColumnPlaceSerializer, BenchmarkSerializer)
    submission_fields = {"best_known": serializers.ListField(child=serializers.DictField())}

    def submission(self, submission: Submission, *, inside: bool) -> Mapping[str, Any]:
        """Return what is best known of a submission in each round in which it is released."""
        return {"best_known": [as_values(best_known(each)) for each in released_entries(submission)]}

    def progress(self, submission: Submission, *, inside: bool) -> SubmissionProgress:
        """Return rank and score as on the leaderboard; one that failed in an attack, or was given up, has none."""
        found = super().progress(submission, inside=inside)
        if found.final:
            return found
        rows = [] if self._hidden(submission, inside=inside) else newest_benchmarks(submission)
        given_up = any(each.state == Benchmark.State.FAILED for each in rows)
        return SubmissionProgress(
            final=given_up or any(each.reason for each in rows), problem=_GIVEN_UP if given_up else ""
        )

    def evaluations(self, submission: Submission, *, inside: bool) -> Sequence[Mapping[str, Any]]:
        """Return the benchmarks for the leaderboard, played or not: those on the newest rules and samples first."""
        if self._hidden(submission, inside=inside):
            return []
        benchmarks = submission.benchmarks.filter(round=None).select_related("round", "rules", "sample_set")
        return list(BenchmarkSerializer(benchmarks.order_by("-rules__version", "-sample_set", "pk"), many=True).data)

    def leaderboard(
        self, track: Track, user: User | AnonymousUser, page: str, at: datetime | None
    ) -> Mapping[str, Any]:
        live = sees_live(user, track.competition)
        boards = [
            {
                "threat_model": each.key, "knowledge": each.knowledge, "goal": str(each.goal), "norm": str(each.norm),
                "budget": each.budget,
                "rows": [self._row(row) for row in self.board.rows_under(track, each)] if live else [],
            }
            for each in threat_models_of(track.competition)
        ]  # fmt: skip
        return {**super().leaderboard(track, user, page, at), "threat_models": boards}

    def _values(self, row: PlainRow) -> dict[str, float | None]:
        """Return the numbers of a row; a distance is null where most images have no adversarial."""
        values = super()._values(row)
        return {name: None if value == math.inf else value for name, value in values.items()}
