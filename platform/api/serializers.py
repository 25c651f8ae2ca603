"""Serializers of the API. Distances are L2 over pixels / 255, times are UTC."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.fields import DistanceField, MomentField, QueriesField, SecondsField, ShareField
from competitions.models import Competition, FreezeWindow, RulesVersion, SampleSet, Track
from competitions.selectors import effective_windows, imported_sets
from core import rounding
from leaderboards.models import Evaluation
from leaderboards.visibility import evaluation_of, frozen_since, public_evaluation_of
from submissions.models import Build, Submission
from tournaments.boards import progress_of_submission, row_of_submission, tournament_in_force


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
    """The rules as values; a missing value defaults to AVC 2018."""

    class Meta:
        model = RulesVersion
        fields = ("version", "values", "note", "created_at")


class WindowSerializer(serializers.ModelSerializer[FreezeWindow]):
    """A freeze window."""

    class Meta:
        model = FreezeWindow
        fields = ("starts_at", "ends_at", "reason")


class SampleSetSerializer(serializers.ModelSerializer[SampleSet]):
    """Public data of a sample set: name, purpose and size."""

    class Meta:
        model = SampleSet
        fields = ("name", "purpose", "count")


class WholeCompetitionSerializer(serializers.ModelSerializer[Competition]):
    """A competition with its tracks, rules, freeze windows and sample sets."""

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
        """Return the freeze windows that were not called off."""
        return WindowSerializer(effective_windows(competition), many=True).data

    def get_sample_sets(self, competition: Competition) -> object:
        """Return the imported sets, without the sets drawn for rounds."""
        return SampleSetSerializer(imported_sets(competition), many=True).data


class BoardRowSerializer(serializers.Serializer[Any]):
    """A row of a leaderboard. `provisional`: not measured under the evaluation basis in force. Such a row has no rank
    and comes after the others, in the order of re-evaluation.

    `rank_low` to `rank_high`: the 95 % rank interval, null if it is not computed; only `rank_high` is null if the
    interval extends below the compared rows. `change`: places won (above 0) or lost in a day under the same basis, null
    without an earlier rank. `failures`: pairs of sample and counted opponent without an adversarial. `met` of
    `opponents` count: an attack's score excludes models of its own team, `value_all` includes them. Models only:
    `held`, the number of samples without an adversarial, and `clean_wrong`, the number of samples misclassified without
    an attack. `chosen`: the team chose this submission; otherwise it is the newest scored one.
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
    chosen = serializers.BooleanField()
    scored_at = MomentField()


class BoardSerializer(serializers.Serializer[Any]):
    """A page of a leaderboard. `still_since` and `still_reason` are null if the leaderboard is not frozen."""

    page = serializers.IntegerField(source="number")
    pages = serializers.IntegerField()
    total = serializers.IntegerField()
    still_since = serializers.DateTimeField(source="frozen.since", default=None)
    still_reason = serializers.CharField(source="frozen.reason", default=None)
    rows = BoardRowSerializer(many=True)


class TransferStandingSerializer(serializers.Serializer[Any]):
    """The standing of a submission that counts on a leaderboard of the transfer format, as its row there.

    `low` to `high`: the 95 % interval of the score. `rank_low` to `rank_high`: the 95 % rank interval. All are null
    with fewer than ten images.
    """

    rank = serializers.IntegerField(allow_null=True)
    rank_low = serializers.IntegerField(allow_null=True)
    rank_high = serializers.IntegerField(allow_null=True)
    score = ShareField(allow_null=True)
    low = ShareField(allow_null=True)
    high = ShareField(allow_null=True)
    raw = serializers.IntegerField(allow_null=True)
    worst = ShareField(allow_null=True)
    coverage = ShareField(allow_null=True)
    opponents = serializers.IntegerField()
    median_seconds = SecondsField(allow_null=True)
    repeated = serializers.IntegerField(source="repeats.repeated")
    changed = serializers.IntegerField(source="repeats.changed")
    inconsistent = serializers.BooleanField(source="repeats.inconsistent")
    entered_at = MomentField()


class TransferBoardRowSerializer(TransferStandingSerializer):
    """A row of a leaderboard of the transfer format, with shares from 0 to 1.

    `team` is empty and `submission` null for a baseline; `rank`, `score`, `raw` and `worst` are null if no opponent
    counts.
    """

    team = serializers.CharField(source="team_slug")
    team_name = serializers.CharField(source="team")
    ineligible_for_prizes = serializers.BooleanField()
    baseline = serializers.BooleanField()
    submission = serializers.IntegerField(allow_null=True)
    title = serializers.CharField()


class UnderWaySerializer(serializers.Serializer[Any]):
    """A submission or baseline that is being evaluated: `played` of the `needed` runs that are known are played."""

    team = serializers.CharField(source="team_slug")
    team_name = serializers.CharField(source="team")
    submission = serializers.IntegerField(allow_null=True)
    title = serializers.CharField()
    played = serializers.IntegerField()
    needed = serializers.IntegerField()


class TransferBoardSerializer(serializers.Serializer[Any]):
    """A whole leaderboard of the transfer format. While it is frozen (`still_since`), it has no rows."""

    still_since = serializers.SerializerMethodField()
    rows = TransferBoardRowSerializer(many=True)
    under_way = UnderWaySerializer(many=True)

    def get_still_since(self, board: object) -> object:
        """Return the time of the freeze that hides the rows, or None."""
        return self.context["still_since"]


class EvaluationSerializer(serializers.ModelSerializer[Evaluation]):
    """An evaluation of a submission, finished or not. Numbers are rounded as on the pages."""

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
        """Return a row for each opponent, in the order of the pool."""
        return [{**row, "median": rounding.distance(row["median"])} for row in evaluation.per_opponent]


class SubmissionSerializer(serializers.ModelSerializer[Submission]):
    """Public data of a submission. It has an `evaluation`, or in the transfer format a `standing` or its `runs`.

    `standing` is null unless the submission counts, `runs` unless it is being evaluated.
    """

    number = serializers.IntegerField(source="pk")
    competition = serializers.CharField(source="repository.entry.competition.slug")
    team = serializers.CharField(source="repository.entry.team.slug")
    track = serializers.CharField(source="repository.track.name")
    evaluation = serializers.SerializerMethodField()
    standing = serializers.SerializerMethodField()
    runs = serializers.SerializerMethodField()

    class Meta:
        model = Submission
        fields: tuple[str, ...] = (
            *("number", "competition", "team", "track", "title", "state", "received_at"),
            *("disqualified_at", "evaluation", "standing", "runs"),
        )

    def get_evaluation(self, submission: Submission) -> object:
        """Return the newest public evaluation or None; with frozen leaderboards, the one before the freeze."""
        return _shown(public_evaluation_of(submission))

    def get_standing(self, submission: Submission) -> object:
        """Return the standing on the leaderboard of the transfer format, or None; while it is frozen, None."""
        row = row_of_submission(submission) if self._shows_transfer(submission) else None
        return TransferStandingSerializer(row).data if row else None

    def get_runs(self, submission: Submission) -> object:
        """Return how many runs are played of those that are known, while it is evaluated in the transfer format."""
        shown = self._shows_transfer(submission) and submission.state == Submission.State.READY
        tournament = tournament_in_force(submission.repository.entry.competition) if shown else None
        progress = progress_of_submission(tournament, submission) if tournament else None
        return {"played": progress[0], "needed": progress[1]} if progress else None

    def _shows_transfer(self, submission: Submission) -> bool:
        """Return whether it is of the transfer format, and its standing is shown to the public."""
        competition = submission.repository.entry.competition
        return competition.format == Competition.Format.TRANSFER and frozen_since(competition) is None


class BuildSerializer(serializers.ModelSerializer[Build]):
    """An attempt to build a submission."""

    class Meta:
        model = Build
        fields = ("attempt", "started_at", "finished_at", "outcome", "checks")


class WholeSubmissionSerializer(SubmissionSerializer):
    """Data of a submission for its team and the organisers."""

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
        """Return the newest evaluation, or None."""
        return _shown(evaluation_of(submission))

    def _shows_transfer(self, submission: Submission) -> bool:
        """Return whether it is of the transfer format: a freeze hides nothing from its team."""
        return bool(submission.repository.entry.competition.format == Competition.Format.TRANSFER)


def _shown(evaluation: Evaluation | None) -> object:
    return EvaluationSerializer(evaluation).data if evaluation else None


class AllowanceSerializer(serializers.Serializer[Any]):
    """A team's quota in a track. `frees_at`: when each used slot becomes free, soonest first."""

    quota = serializers.IntegerField()
    used = serializers.IntegerField()
    left = serializers.IntegerField()
    frees_at = serializers.ListField(child=serializers.DateTimeField())
    next_at = serializers.DateTimeField(allow_null=True)


class CommitSerializer(serializers.Serializer[Any]):
    """The commit to submit."""

    commit = serializers.CharField(max_length=64)
