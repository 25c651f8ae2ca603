"""Serializers of what all formats share. Times are UTC."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.formats import api_formats
from competitions.models import Competition, FreezeWindow, RulesVersion, SampleSet, Track
from competitions.selectors import effective_windows, imported_sets
from submissions.local_check import published_smoke_test
from submissions.models import Build, Submission


class CompetitionSerializer(serializers.ModelSerializer[Competition]):
    """A competition in a list."""

    class Meta:
        model = Competition
        fields = ("slug", "title", "summary", "starts_at", "ends_at", "archived_at", "licence_policy")


class TrackSerializer(serializers.ModelSerializer[Track]):
    """A track."""

    class Meta:
        model = Track
        fields = ("name", "title", "text", "quota")


class RulesSerializer(serializers.ModelSerializer[RulesVersion]):
    """The rules as values; a missing value has the default of the format."""

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
    smoke_test = serializers.SerializerMethodField()

    class Meta:
        model = Competition
        fields = (
            *CompetitionSerializer.Meta.fields,
            "description",
            "tracks",
            "rules",
            "freeze_windows",
            "sample_sets",
            "smoke_test",
        )

    def get_freeze_windows(self, competition: Competition) -> object:
        """Return the freeze windows that were not called off."""
        return WindowSerializer(effective_windows(competition), many=True).data

    def get_sample_sets(self, competition: Competition) -> object:
        """Return the imported sets, without the sets drawn for rounds."""
        return SampleSetSerializer(imported_sets(competition), many=True).data

    def get_smoke_test(self, competition: Competition) -> dict[str, Any] | None:
        """Return what `gauntlet check --competition` needs; None before the competition has development samples."""
        return published_smoke_test(competition) if competition.sample_sets.exists() else None


class SubmissionSerializer(serializers.ModelSerializer[Submission]):
    """Public data of a submission. Where `result` stands are the fields of every format, null but for its own."""

    number = serializers.IntegerField(source="pk")
    competition = serializers.CharField(source="repository.entry.competition.slug")
    team = serializers.CharField(source="repository.entry.team.slug")
    track = serializers.CharField(source="repository.track.name")
    result = serializers.SerializerMethodField()
    inside = False
    """Whether it is for its team and the organisers."""

    class Meta:
        model = Submission
        fields: tuple[str, ...] = (
            *("number", "competition", "team", "track", "title", "state", "received_at"),
            *("disqualified_at", "result"),
        )

    def get_result(self, submission: Submission) -> dict[str, Any]:
        """Return how it scored or how far its evaluation is, in the fields of all formats."""
        nothing = {field: None for name in api_formats for field in api_formats[name].submission_fields}
        own = api_formats.of(submission.repository.entry.competition)
        return {**nothing, **own.submission(submission, inside=self.inside)}

    def to_representation(self, instance: Submission) -> dict[str, Any]:
        """Return the data with the fields of `result` in its place."""
        data = super().to_representation(instance)
        return {
            name: value
            for field, content in data.items()
            for name, value in (content.items() if field == "result" else [(field, content)])
        }


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
    inside = True

    class Meta(SubmissionSerializer.Meta):
        fields = (
            *SubmissionSerializer.Meta.fields,
            *("commit", "tag", "licence", "submitted_by", "state_since", "cause", "reason", "problem", "fix"),
            *("disqualified_for", "slot", "builds"),
        )


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
