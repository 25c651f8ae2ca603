"""Serializers of what all formats share. Times are UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, TypeVar

from django.db.models import Model
from drf_spectacular.drainage import set_override
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers

from accounts.models import AccessToken, Membership
from api.formats import JsonSerializer, SubmissionProgress, api_formats
from competitions.models import (
    Announcement,
    Competition,
    CompetitionOrigin,
    FreezeWindow,
    RulesVersion,
    SampleSet,
    Track,
)
from competitions.origin import origin_of
from competitions.sample_set_selectors import imported_sets
from competitions.selectors import effective_windows
from submissions.local_check_command import published_smoke_test
from submissions.models import Build, LogChunk, Submission

Row = TypeVar("Row", bound=Model)


class AnswerSerializer(serializers.ModelSerializer[Row]):
    """Fields of a row, which are in every answer."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return the fields; nobody sends one."""
        fields = super().get_fields()
        for field in fields.values():
            field.read_only = True
        return fields


class CompetitionSerializer(AnswerSerializer[Competition]):
    """A competition in a list."""

    class Meta:
        model = Competition
        fields = ("slug", "title", "summary", "starts_at", "ends_at", "archived_at", "licence_policy")


class TrackSerializer(AnswerSerializer[Track]):
    """A track."""

    class Meta:
        model = Track
        fields = ("name", "title", "text", "quota")


class RulesSerializer(AnswerSerializer[RulesVersion]):
    """The rules as values; a missing value has the default of the format."""

    class Meta:
        model = RulesVersion
        fields = ("version", "values", "note", "created_at")


class WindowSerializer(AnswerSerializer[FreezeWindow]):
    """A freeze window."""

    class Meta:
        model = FreezeWindow
        fields = ("starts_at", "ends_at", "reason")


class SampleSetSerializer(AnswerSerializer[SampleSet]):
    """Public data of a sample set: name, purpose and size."""

    class Meta:
        model = SampleSet
        fields = ("name", "purpose", "count")


class DevelopmentSamplesSerializer(serializers.Serializer[Any]):
    """The public samples: how many, the address of all of them, and that of one, in which {sample} is its number."""

    count = serializers.IntegerField()
    archive = serializers.CharField(help_text="A ZIP archive of PNG images, with labels, targets and names of classes.")
    image = serializers.CharField()


class DataSetSerializer(serializers.Serializer[Any]):
    """The images of a competition: height, width and channels, the names of the classes, and the samples."""

    shape = serializers.ListField(child=serializers.IntegerField())
    classes = serializers.ListField(child=serializers.CharField())
    development = DevelopmentSamplesSerializer(allow_null=True)
    validation = serializers.IntegerField(help_text="The number of secret samples that scores are measured on.")


class OriginSerializer(AnswerSerializer[CompetitionOrigin]):
    """The site on which an imported competition was played, with the public keys of its signed files."""

    signing_keys = serializers.SerializerMethodField()

    class Meta:
        model = CompetitionOrigin
        fields = ("address", "slug", "exported_at", "imported_at", "signing_keys")

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_signing_keys(self, origin: CompetitionOrigin) -> list[str]:
        """Return the keys, the oldest first."""
        return [str(each["key"]) for each in origin.signing_keys]


class WholeCompetitionSerializer(AnswerSerializer[Competition]):
    """A competition with its tracks, rules, freeze windows and sample sets."""

    tracks = TrackSerializer(many=True)
    rules = RulesSerializer(source="rules_versions.first", allow_null=True)
    freeze_windows = serializers.SerializerMethodField()
    sample_sets = serializers.SerializerMethodField()
    smoke_test = serializers.SerializerMethodField()
    origin = serializers.SerializerMethodField()

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
            "origin",
        )

    @extend_schema_field(WindowSerializer(many=True))
    def get_freeze_windows(self, competition: Competition) -> object:
        """Return the freeze windows that were not called off."""
        return WindowSerializer(effective_windows(competition), many=True).data

    @extend_schema_field(SampleSetSerializer(many=True))
    def get_sample_sets(self, competition: Competition) -> object:
        """Return the imported sets, without the sets drawn for rounds."""
        return SampleSetSerializer(imported_sets(competition), many=True).data

    def get_smoke_test(self, competition: Competition) -> dict[str, Any] | None:
        """Return what `gauntlet check --competition` needs; None before the competition has development samples."""
        return published_smoke_test(competition) if competition.sample_sets.exists() else None

    @extend_schema_field(OriginSerializer(allow_null=True))
    def get_origin(self, competition: Competition) -> object:
        """Return the site on which it was played, null if it is this one."""
        origin = origin_of(competition) if competition.archived_at is not None else None
        return OriginSerializer(origin).data if origin is not None else None


class AnnouncementSerializer(AnswerSerializer[Announcement]):
    """An announcement, as a webhook gets it; its text is Markdown."""

    number = serializers.IntegerField(source="pk")

    class Meta:
        model = Announcement
        fields = ("number", "title", "text", "published_at", "changed_at")


class FieldOfFormat(serializers.Field[Any, Any, Any, Any]):
    """A field that only the submissions of one format have; `shape` describes it in the OpenAPI document."""

    def __init__(self, shape: serializers.Field[Any, Any, Any, Any]) -> None:
        super().__init__(source="*", read_only=True, allow_null=True)
        set_override(self, "field", shape)

    def to_representation(self, value: Submission) -> Any:
        """Return what the format of the submission answered, None in another format."""
        parent: SubmissionSerializer = self.parent  # type: ignore[assignment]
        return parent.of_format.get(str(self.field_name))


class ProgressSerializer(serializers.Serializer[Any]):
    """How far a submission is. `final`: nothing changes any more, unless it is measured again.

    `score` and `rank` are those that the leaderboard shows, null without them. `problem` says why there is no score
    where platform errors are the cause, else it is empty.
    """

    final = serializers.BooleanField()
    score = serializers.FloatField(allow_null=True)
    rank = serializers.IntegerField(allow_null=True)
    problem = serializers.CharField()


class ListedSubmissionSerializer(AnswerSerializer[Submission]):
    """A submission in a list."""

    number = serializers.IntegerField(source="pk")
    competition = serializers.CharField(source="repository.entry.competition.slug")
    team = serializers.CharField(source="repository.entry.team.slug")
    track = serializers.CharField(source="repository.track.name")

    class Meta:
        model = Submission
        fields: tuple[str, ...] = (
            *("number", "competition", "team", "track", "title", "state", "received_at", "disqualified_at"),
            "baseline_at",
        )


class OwnListedSubmissionSerializer(ListedSubmissionSerializer):
    """A submission in a list of its own team."""

    submitted_by = serializers.CharField(source="submitted_by.username")

    class Meta(ListedSubmissionSerializer.Meta):
        fields = (*ListedSubmissionSerializer.Meta.fields, "commit", "tag", "submitted_by")


class SubmissionSerializer(ListedSubmissionSerializer):
    """Public data of a submission. The fields of every format are null but for those of its own.

    Its context may say whether the reader sees `scores` that are not public; else those see them who are inside.
    """

    progress = serializers.SerializerMethodField()
    inside = False
    """Whether it is for its team and the organisers."""
    of_format: Mapping[str, Any] = {}

    class Meta(ListedSubmissionSerializer.Meta):
        fields = (*ListedSubmissionSerializer.Meta.fields, "progress")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return the fields of all submissions, and those of each format."""
        shapes = (api_formats[name].submission_fields for name in api_formats)
        return {
            **super().get_fields(),
            **{field: FieldOfFormat(shape) for shape_of in shapes for field, shape in shape_of.items()},
        }

    @extend_schema_field(ProgressSerializer)
    def get_progress(self, submission: Submission) -> dict[str, Any]:
        """Return how far it is; nothing more comes of one that is rejected, withdrawn, disqualified or archived."""
        competition = submission.repository.entry.competition
        ended = submission.state in {Submission.State.REJECTED, Submission.State.WITHDRAWN}
        ended = ended or submission.disqualified_at is not None or competition.archived_at is not None
        if submission.state != Submission.State.READY:
            return asdict(SubmissionProgress(final=ended))
        found = api_formats.of(competition).progress(submission, inside=self._sees_scores)
        return asdict(replace(found, final=found.final or ended))

    def to_representation(self, instance: Submission) -> dict[str, Any]:
        """Return the data, with how it scored or how far its evaluation is."""
        own = api_formats.of(instance.repository.entry.competition)
        self.of_format = own.submission(instance, inside=self._sees_scores)
        return super().to_representation(instance)

    @property
    def _sees_scores(self) -> bool:
        return bool(self.context.get("scores", self.inside))


class BuildSerializer(AnswerSerializer[Build]):
    """An attempt to build a submission."""

    class Meta:
        model = Build
        fields = ("attempt", "started_at", "finished_at", "outcome", "checks")


class WholeSubmissionSerializer(SubmissionSerializer):
    """Data of a submission for its team and the organisers.

    `given_title` is its title while it is hidden, otherwise empty.
    """

    submitted_by = serializers.CharField(source="submitted_by.username")
    slot = serializers.CharField(source="quota_slot.state", default=None, allow_null=True)
    builds = BuildSerializer(many=True)
    inside = True

    class Meta(SubmissionSerializer.Meta):
        fields = (
            *SubmissionSerializer.Meta.fields,
            *("commit", "tag", "licence", "submitted_by", "state_since", "cause", "reason", "problem", "fix"),
            *("disqualified_for", "baseline_for", "hidden_at", "hidden_for", "given_title", "slot", "builds"),
        )


class ShownSubmissionSerializer(WholeSubmissionSerializer):
    """A submission as you may see it. The fields for its team and the organisers are missing for others.

    The fields of every format are null but for those of its own.
    """

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return all fields; those that not everybody sees are optional."""
        fields = super().get_fields()
        public = SubmissionSerializer().get_fields()
        for name in fields.keys() - public.keys():
            fields[name].read_only, fields[name].required = False, False
        return fields


class AllowanceSerializer(serializers.Serializer[Any]):
    """A team's quota in a track. `frees_at`: when each used slot becomes free, soonest first."""

    quota = serializers.IntegerField()
    used = serializers.IntegerField()
    left = serializers.IntegerField()
    frees_at = serializers.ListField(child=serializers.DateTimeField())
    next_at = serializers.DateTimeField(allow_null=True)


class LogLineSerializer(serializers.Serializer[Any]):
    """A line of a log. `number` never changes; `stage` is `build` or `smoke`."""

    number = serializers.IntegerField()
    stage = serializers.ChoiceField(choices=LogChunk.Stage.choices)
    text = serializers.CharField()


class LogSerializer(serializers.Serializer[Any]):
    """Lines of the log of a build and its smoke test, in order.

    The next request has `after` = `last`; no line follows once it is `over`. `attempt` is null before the first build.
    """

    attempt = serializers.IntegerField(allow_null=True)
    lines = LogLineSerializer(many=True)
    last = serializers.IntegerField()
    over = serializers.BooleanField()


@extend_schema_field(
    PolymorphicProxySerializer("AnyNumbers", lambda: shape_of_each_format("numbers"), resource_type_field_name=None)
)
class NumbersField(serializers.JSONField):
    """The numbers of a match, with the fields of its format."""


@extend_schema_field(
    PolymorphicProxySerializer(
        "AnySample", lambda: shape_of_each_format("sample"), resource_type_field_name=None, many=True
    )
)
class SamplesField(serializers.JSONField):
    """A row for each sample of a match, with the fields of its format."""


class MatchSerializer(serializers.Serializer[Any]):
    """A match as you see it. Players are named by their titles, and by their submissions if they have any.

    `numbers` are null before it is played.
    """

    key = serializers.CharField()
    track = serializers.CharField()
    state = serializers.CharField()
    model = serializers.CharField()
    model_submission = serializers.IntegerField(allow_null=True)
    attack = serializers.CharField()
    attack_submission = serializers.IntegerField(allow_null=True)
    numbers = NumbersField(allow_null=True)


class WholeMatchSerializer(MatchSerializer):
    """A match with a row for each sample, null where its samples are secret."""

    samples = SamplesField(allow_null=True)


class OpponentSerializer(serializers.Serializer[Any]):
    """An opponent that a submission may challenge: a bundled baseline, or a submission whose code is released.

    `submission` is null and `team` empty for a baseline.
    """

    opponent = serializers.CharField(help_text="What a challenge names it by.")
    track = serializers.CharField()
    title = serializers.CharField()
    team = serializers.CharField(help_text="The name of its team.")
    submission = serializers.IntegerField(allow_null=True)


class ChallengeSerializer(serializers.Serializer[Any]):
    """An unranked match of a submission against an opponent that its team chose, named as in the request.

    `state` is `waiting`, `playing`, `played`, `failed` (by platform errors; it does not count for the limit of the
    team) or `cancelled` (a submission of it was withdrawn or disqualified). `numbers` are null before it is played.
    """

    number = serializers.IntegerField()
    submission = serializers.IntegerField()
    opponent = serializers.CharField()
    opponent_title = serializers.CharField()
    track = serializers.CharField(help_text="The track of the opponent.")
    state = serializers.CharField()
    requested_by = serializers.CharField()
    requested_at = serializers.DateTimeField()
    played_at = serializers.DateTimeField(allow_null=True)
    rules = serializers.IntegerField()
    sample_set = serializers.CharField()
    numbers = NumbersField(allow_null=True)


class WholeChallengeSerializer(ChallengeSerializer):
    """A challenge with a row for each sample, null before it is played: development samples are public."""

    samples = SamplesField(allow_null=True)


class TokenSerializer(AnswerSerializer[AccessToken]):
    """The token of the request."""

    scopes = serializers.ListField(child=serializers.ChoiceField(choices=AccessToken.Scope.choices))

    class Meta:
        model = AccessToken
        fields = ("name", "scopes", "created_at", "expires_at")


class OwnTeamTrackSerializer(serializers.Serializer[Any]):
    """A track that a team may submit to, and the address of its repository for git."""

    name = serializers.CharField()
    title = serializers.CharField()
    quota = serializers.IntegerField()
    repository = serializers.URLField()


class OwnTeamSerializer(AnswerSerializer[Membership]):
    """A team of yours, and your role in it."""

    slug = serializers.CharField(source="team.slug")
    name = serializers.CharField(source="team.name")
    competition = serializers.CharField(source="team.entry.competition.slug")
    members = serializers.SerializerMethodField()
    tracks = serializers.SerializerMethodField()

    class Meta:
        model = Membership
        fields = ("slug", "name", "role", "competition", "members", "tracks")

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_members(self, membership: Membership) -> list[str]:
        """Return the user names of its members."""
        return [each.user.username for each in membership.team.memberships.all()]

    @extend_schema_field(OwnTeamTrackSerializer(many=True))
    def get_tracks(self, membership: Membership) -> list[dict[str, Any]]:
        """Return the tracks of its competition."""
        team, site = membership.team, self.context["site"]
        return [
            {
                "name": each.name,
                "title": each.title,
                "quota": each.quota,
                "repository": f"{site}/git/{team.slug}/{each.name}.git",
            }
            for each in team.entry.competition.tracks.all()
        ]


class ProfileSerializer(serializers.Serializer[Any]):
    """Who sent the request: `token` is null in the session of a browser."""

    username = serializers.CharField()
    token = TokenSerializer(allow_null=True)
    teams = serializers.ListField(child=serializers.CharField(), help_text="The short names of your teams.")


class IndexSerializer(serializers.Serializer[Any]):
    """The version of the program and of the API, and where everything is."""

    version = serializers.CharField()
    openapi = serializers.URLField()
    documentation = serializers.URLField()
    kit = serializers.URLField(allow_null=True, help_text="Requirements for pip, which install the command `gauntlet`.")
    addresses = serializers.ListField(child=serializers.CharField())


class ProblemSerializer(serializers.Serializer[Any]):
    """A problem document (RFC 9457)."""

    type = serializers.CharField(help_text="The page that explains the code.")
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField(help_text="The kind of problem, for programs.")
    detail = serializers.CharField(help_text="The cause, for people.")
    fix = serializers.CharField(help_text="What to do.")
    accepted_from = serializers.DateTimeField(allow_null=True, help_text="When the same request is accepted.")
    state = serializers.CharField(required=False, help_text="With the code `wrong-state`: what stands in the way.")


def shape_of_each_format(part: str) -> list[JsonSerializer]:
    """Return the serializers of one part of `api.formats.AnswerShapes`, of all formats that have it."""
    shapes = (getattr(api_formats[name].shapes, part) for name in api_formats)
    return [shape for shape in shapes if shape is not None]
