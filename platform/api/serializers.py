"""The shapes that the API gives and takes. Distances are L2 over pixels / 255, times are UTC."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.fields import DistanceField, MomentField, QueriesField, SecondsField
from competitions.models import Competition, FreezeWindow, RulesVersion, SampleSet, Track
from competitions.selectors import imported_sets, standing_windows
from core import rounding
from leaderboards.models import Evaluation
from leaderboards.selectors import evaluation_of, public_evaluation_of
from submissions.models import Build, Submission


class CompetitionSerializer(serializers.ModelSerializer[Competition]):
    """A competition in a list."""

    class Meta:
        model = Competition
        fields = ("slug", "title", "summary", "starts_at", "ends_at", "licence_policy")


class TrackSerializer(serializers.ModelSerializer[Track]):
    """A track."""

    class Meta:
        model = Track
        fields = ("name", "title", "text", "quota")


class RulesSerializer(serializers.ModelSerializer[RulesVersion]):
    """The rules as values; one that is left out has the value of AVC 2018."""

    class Meta:
        model = RulesVersion
        fields = ("version", "values", "note", "created_at")


class WindowSerializer(serializers.ModelSerializer[FreezeWindow]):
    """A freeze window."""

    class Meta:
        model = FreezeWindow
        fields = ("starts_at", "ends_at", "reason")


class SampleSetSerializer(serializers.ModelSerializer[SampleSet]):
    """What is public of a sample set: that it is there, and how large."""

    class Meta:
        model = SampleSet
        fields = ("name", "purpose", "count")


class WholeCompetitionSerializer(serializers.ModelSerializer[Competition]):
    """A competition with all that teams need to know."""

    tracks = TrackSerializer(many=True)
    rules = RulesSerializer(source="rules_versions.first")
    freeze_windows = serializers.SerializerMethodField()
    sample_sets = serializers.SerializerMethodField()

    class Meta:
        model = Competition
        fields = (
            *CompetitionSerializer.Meta.fields,
            "description",
            "tracks",
            "rules",
            "freeze_windows",
            "sample_sets",
        )

    def get_freeze_windows(self, competition: Competition) -> object:
        """Those that were not called off."""
        return WindowSerializer(standing_windows(competition), many=True).data

    def get_sample_sets(self, competition: Competition) -> object:
        """Those that are imported; what rounds draw from them is theirs."""
        return SampleSetSerializer(imported_sets(competition), many=True).data


class BoardRowSerializer(serializers.Serializer[Any]):
    """A line of a leaderboard. `provisional`: measured under other opponents, rules or samples than are in force; such
    a line has no rank and stands below the others, in the order in which it is measured again.

    `rank_low` to `rank_high`: the 95 % rank interval, null where none is computed; `rank_high` alone is null where it
    reaches below the lines that are compared. `change`: places won (above 0) or lost in a day among ranks under the
    same terms, null where it had none. `failures`: pairs of sample and counted opponent without an adversarial. `met`
    of `opponents` count: an attack's score leaves out models of its own team, and `value_all` does not. Models only:
    `held`, on how many samples no attack found anything, and `clean_wrong`, how many were wrong without an attack.
    """

    rank = serializers.IntegerField(allow_null=True)
    rank_low = serializers.IntegerField(allow_null=True)
    rank_high = serializers.IntegerField(allow_null=True)
    change = serializers.IntegerField(allow_null=True)
    team = serializers.CharField(source="team_slug")
    team_name = serializers.CharField(source="team")
    ineligible_for_prizes = serializers.BooleanField()
    submission = serializers.IntegerField()
    title = serializers.CharField()
    value = DistanceField()
    low = DistanceField()
    high = DistanceField()
    samples = serializers.IntegerField()
    failures = serializers.IntegerField()
    met = serializers.IntegerField(allow_null=True)
    opponents = serializers.IntegerField()
    value_all = DistanceField(allow_null=True)
    held = serializers.IntegerField(allow_null=True)
    clean_wrong = serializers.IntegerField(allow_null=True)
    worst_opponent = serializers.CharField()
    median_seconds = SecondsField()
    rules = serializers.IntegerField()
    pool = serializers.IntegerField(allow_null=True)
    provisional = serializers.BooleanField()
    scored_at = MomentField()


class BoardSerializer(serializers.Serializer[Any]):
    """A page of a leaderboard. `still_since` and `still_reason` are null where it is the board as it is now."""

    page = serializers.IntegerField(source="number")
    pages = serializers.IntegerField()
    total = serializers.IntegerField()
    still_since = serializers.DateTimeField(source="frozen.since", default=None)
    still_reason = serializers.CharField(source="frozen.reason", default=None)
    rows = BoardRowSerializer(many=True)


class EvaluationSerializer(serializers.ModelSerializer[Evaluation]):
    """A submission's score, or that it is still played for. Numbers are rounded as on the pages."""

    value = DistanceField()
    low = DistanceField()
    high = DistanceField()
    value_all = DistanceField()
    median_seconds = SecondsField()
    mean_queries = QueriesField()
    per_opponent = serializers.SerializerMethodField()
    finished_at = MomentField()
    pool = serializers.IntegerField(source="pool.number")
    sample_set = serializers.CharField(source="sample_set.name")
    rules = serializers.IntegerField(source="rules.version")
    worst_opponent = serializers.CharField(source="worst_opponent.title", default=None)

    class Meta:
        model = Evaluation
        fields = (
            *("state", "pool", "sample_set", "rules", "value", "low", "high", "samples", "failures"),
            *("met", "value_all", "held", "clean_wrong"),
            *("worst_opponent", "per_opponent", "median_seconds", "mean_queries", "created_at", "finished_at"),
        )

    def get_per_opponent(self, evaluation: Evaluation) -> object:
        """A row for each opponent, in the pool's order."""
        return [{**row, "median": rounding.distance(row["median"])} for row in evaluation.per_opponent]


class SubmissionSerializer(serializers.ModelSerializer[Submission]):
    """What everyone sees of a submission."""

    number = serializers.IntegerField(source="pk")
    competition = serializers.CharField(source="repository.entry.competition.slug")
    team = serializers.CharField(source="repository.entry.team.slug")
    track = serializers.CharField(source="repository.track.name")
    evaluation = serializers.SerializerMethodField()

    class Meta:
        model = Submission
        fields: tuple[str, ...] = (
            *("number", "competition", "team", "track", "title", "state", "received_at"),
            *("disqualified_at", "evaluation"),
        )

    def get_evaluation(self, submission: Submission) -> object:
        """The newest evaluation, null where there is none; while boards stand still, what was known before."""
        return _shown(public_evaluation_of(submission))


class BuildSerializer(serializers.ModelSerializer[Build]):
    """A try to build a submission."""

    class Meta:
        model = Build
        fields = ("attempt", "started_at", "finished_at", "outcome", "checks")


class WholeSubmissionSerializer(SubmissionSerializer):
    """What its team and the organisers see beside that."""

    submitted_by = serializers.CharField(source="submitted_by.username")
    slot = serializers.CharField(source="quota_slot.state", default=None)
    builds = BuildSerializer(many=True)

    class Meta(SubmissionSerializer.Meta):
        fields = (
            *SubmissionSerializer.Meta.fields,
            *("commit", "tag", "licence", "submitted_by", "state_since", "cause", "reason", "problem", "fix"),
            *("disqualified_for", "slot", "builds"),
        )

    def get_evaluation(self, submission: Submission) -> object:
        """The newest evaluation, null where there is none."""
        return _shown(evaluation_of(submission))


def _shown(evaluation: Evaluation | None) -> object:
    return EvaluationSerializer(evaluation).data if evaluation else None


class AllowanceSerializer(serializers.Serializer[Any]):
    """What a team may still submit to a track; `frees_at`: when each slot that is taken frees, soonest first."""

    quota = serializers.IntegerField()
    used = serializers.IntegerField()
    left = serializers.IntegerField()
    frees_at = serializers.ListField(child=serializers.DateTimeField())
    next_at = serializers.DateTimeField(allow_null=True)


class CommitSerializer(serializers.Serializer[Any]):
    """What to submit."""

    commit = serializers.CharField(max_length=64)
