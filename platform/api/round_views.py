"""Rounds in the API. Entrants and results appear only after a round is published."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from drf_spectacular.utils import OpenApiExample, PolymorphicProxySerializer, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import AccessToken, User
from api.access import check_role, competition_of, one_of
from api.base_views import ApiView, ListView, WholeListView
from api.formats import api_formats
from api.pagination import list_of, whole_list
from api.request_bodies import PlanSerializer, values_of
from api.serializers import AnswerSerializer, shape_of_each_format
from competitions.models import Competition, SampleSet
from competitions.permissions import may
from competitions.sample_set_selectors import imported_sets
from core.roles import Right
from core.time_format import for_programs
from rounds.models import Release, Round
from rounds.objections.period import period_end, result_state
from rounds.planning.freeze import refusal_of_freeze
from rounds.planning.plan import plan_round
from rounds.release.released_parts import released
from rounds.release.signing_keys import all_keys, key_id
from rounds.running.dashboard_data import dashboard
from rounds.running.transitions import NEXT_STEPS, acts_in


class RoundSerializer(AnswerSerializer[Round]):
    """A round in a list. No submission is accepted from `starts_at` to `ends_at`.

    `field_commitment` is the salted hash of the entrants, "" until the round is frozen. `objections_until` is when the
    period for objections ends, null before the publication and where `objection_days` is 0.
    """

    samples = serializers.IntegerField(source="sample_set.count")
    starts_at = serializers.DateTimeField(source="window.starts_at")
    ends_at = serializers.DateTimeField(source="window.ends_at")
    rules = serializers.IntegerField(source="rules.version", default=None, allow_null=True)
    objections_until = serializers.SerializerMethodField()

    class Meta:
        model = Round
        fields: tuple[str, ...] = (
            *("number", "title", "kind", "schedule", "guard", "state", "state_since", "planned_at"),
            *("starts_at", "ends_at", "samples", "commitment", "field_commitment", "rules"),
            *("objection_days", "objections_until"),
        )

    def get_objections_until(self, shown: Round) -> datetime | None:
        """Return the end of the period for objections."""
        return period_end(shown)


@extend_schema_field(
    PolymorphicProxySerializer("Place", lambda: shape_of_each_format("place"), resource_type_field_name=None, many=True)
)
class PlacesField(serializers.JSONField):
    """The places of a track, the best first."""


class ReleaseSerializer(serializers.Serializer[Any]):
    """A released part; `address` and `sha256` are null if it is not a file, `key` if it is not signed."""

    part = serializers.CharField()
    released_at = serializers.DateTimeField()
    address = serializers.URLField(allow_null=True)
    sha256 = serializers.CharField(allow_null=True)
    key = serializers.CharField(allow_null=True)


class WholeRoundSerializer(RoundSerializer):
    """A round with its result, whose fields are null or empty before the publication.

    `outcome` is the digest of the whole result. It is `provisional` while teams may object or an objection is open.
    """

    outcome = serializers.CharField(allow_null=True)
    provisional = serializers.BooleanField(allow_null=True)
    standings = serializers.DictField(child=PlacesField(), help_text="By the name of the track.")
    warnings = serializers.ListField(child=serializers.DictField())
    releases = ReleaseSerializer(many=True)

    class Meta(RoundSerializer.Meta):
        fields = (*RoundSerializer.Meta.fields, "outcome", "provisional", "standings", "warnings", "releases")


class ForOrganisersSerializer(serializers.Serializer[Any]):
    """What the page of organisers shows of a round.

    `next_step` is the verb that brings it forward (`score` is of the site), null at the end, and `blocked_by` what
    keeps it from being done now, "" for nothing. `actions` are the verbs that its state offers. `percent` is the share
    of the maximal cost that is played, `problem` what stops the round, or "".
    """

    next_step = serializers.CharField(allow_null=True)
    advice = serializers.CharField()
    blocked_by = serializers.CharField()
    actions = serializers.ListField(child=serializers.CharField())
    percent = serializers.IntegerField(allow_null=True)
    problem = serializers.CharField()


class ShownRoundSerializer(WholeRoundSerializer):
    """A round with its result, and with `for_organisers`, which is null for others. Judges see it, too."""

    for_organisers = ForOrganisersSerializer(allow_null=True)

    class Meta(WholeRoundSerializer.Meta):
        fields = (*WholeRoundSerializer.Meta.fields, "for_organisers")


class DecisionSerializer(serializers.Serializer[Any]):
    """What a stage of a bracket decided on a player: `kept` or not, by its `value` and the line at which it cut."""

    bracket = serializers.CharField()
    stage = serializers.IntegerField()
    samples = serializers.IntegerField()
    track = serializers.CharField()
    player = serializers.CharField()
    teams = serializers.ListField(child=serializers.CharField())
    place = serializers.IntegerField()
    ordered_by = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    cut_line = serializers.FloatField(allow_null=True)
    kept = serializers.BooleanField()
    spared = serializers.BooleanField()
    inconsistent = serializers.BooleanField()
    why = serializers.CharField()


class SigningKeySerializer(serializers.Serializer[Any]):
    """A public key for result bundles; after a rotation with its successor and the signed statement."""

    id = serializers.CharField()
    key = serializers.CharField()
    date = serializers.DateTimeField()
    successor = serializers.CharField(allow_null=True)
    statement = serializers.CharField(allow_null=True)


_PLAN = {
    "title": "Round 1", "kind": "development", "sample_set": "test-1", "samples": 100, "schedule": "ladder-2",
    "starts_at": "2027-03-01T08:00:00Z", "ends_at": "2027-03-02T08:00:00Z", "reason": "As the calendar says.",
}  # fmt: skip


class ListRounds(ListView[Round]):
    """The rounds of a competition, including planned and cancelled ones, newest first."""

    serializer_class = RoundSerializer
    scope_of_changes = AccessToken.Scope.ORGANISE

    def get_queryset(self) -> QuerySet[Round]:
        """Return all rounds of the competition."""
        competition = competition_of(self.request, self.kwargs["slug"])
        return competition.rounds.select_related("window", "sample_set", "rules")

    @extend_schema(
        operation_id="planRound",
        description="Plan a round: its window, and samples that are drawn in a secret order. For organisers.",
        request=PlanSerializer,
        responses={201: ShownRoundSerializer},
        examples=[OpenApiExample("a development round", value=_PLAN, request_only=True)],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Plan a round and return it."""
        competition = competition_of(request, slug)
        by = check_role(request, competition, Right.RUN)
        values = values_of(request, PlanSerializer)
        source = _imported_set(competition, values.pop("sample_set"))
        planned = plan_round(competition=competition, source=source, by=by, **values)
        response = shown_round(request, slug, planned.number)
        response.status_code = status.HTTP_201_CREATED
        response.headers["Location"] = request.build_absolute_uri(reverse("api:round", args=[slug, planned.number]))
        return response


class ShowRound(ApiView):
    """A round and, after it is published, its standings, warnings and files."""

    @extend_schema(responses=ShownRoundSerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Return the round with `number`."""
        return shown_round(request, slug, number)


class ListDecisions(WholeListView):
    """What the stages of a published round decided, in order. Formats without stages have none."""

    @extend_schema(responses=list_of(DecisionSerializer))
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Return every decision; none before the publication."""
        rounds = competition_of(request, slug).rounds.select_related("window", "competition")
        shown = one_of(rounds, "round", number=number)
        if shown.state != Round.State.PUBLISHED:
            return whole_list([])
        rows = api_formats.of(shown.competition).decisions(shown, request.user)
        return whole_list(DecisionSerializer(rows, many=True).data)


def shown_round(request: Request, slug: str, number: int) -> Response:
    """Return a round as the user sees it. Raise 404."""
    rounds = competition_of(request, slug).rounds.select_related("competition", "window", "sample_set", "rules")
    shown = one_of(rounds, "round", number=number)
    values, inside = round_values(shown, request.build_absolute_uri), None
    if isinstance(request.user, User) and may(request.user, shown.competition, Right.SEE_SECRETS):
        inside = _for_organisers(shown, request.user)
    return Response({**values, "for_organisers": inside})


def _for_organisers(shown: Round, user: User) -> dict[str, Any]:
    """Return what the page of organisers shows of a round, as values for JSON."""
    state, page = Round.State(shown.state), dashboard(shown)
    blocked_by = page.problem if state == Round.State.PLAYING else ""
    if state == Round.State.PLANNED:
        blocked_by = refusal_of_freeze(shown, user)
    return {
        "next_step": NEXT_STEPS[state].verb or None,
        "advice": NEXT_STEPS[state].advice,
        "blocked_by": blocked_by,
        "actions": acts_in(state),
        "percent": page.percent,
        "problem": page.problem,
    }


def _imported_set(competition: Competition, name: str) -> SampleSet:
    """Return the imported set of this name. Raise 400 without one."""
    sets = imported_sets(competition)
    found = sets.filter(name=name).first()
    if found is None:
        raise ValidationError({"sample_set": f"use one of {', '.join(sets.values_list('name', flat=True))}"})
    return found


def round_values(shown: Round, absolute: Callable[[str], str]) -> dict[str, Any]:
    """Return a round as values for JSON, as everyone sees it; `absolute` makes addresses of paths on the site."""
    return {**RoundSerializer(shown).data, **_result(shown, absolute)}


def _result(shown: Round, absolute: Callable[[str], str]) -> dict[str, Any]:
    if shown.state != Round.State.PUBLISHED:
        return {"outcome": None, "provisional": None, "standings": {}, "warnings": [], "releases": []}
    state = result_state(shown)
    result = api_formats.of(shown.competition).round_result(shown)
    return {
        "outcome": shown.outcome,
        "provisional": state is not None and not state.final,
        "standings": result.standings,
        "warnings": result.warnings,
        "releases": [_release(shown, each, absolute) for each in released(shown).values()],
    }


def _release(shown: Round, release: Release, absolute: Callable[[str], str]) -> dict[str, Any]:
    """Return a released part as values for JSON."""
    address = (
        reverse("pages:round_file", args=[shown.competition.slug, shown.number, release.part])
        if release.content
        else None
    )
    return {
        "part": release.part,
        "released_at": release.released_at,
        "address": absolute(address) if address else None,
        "sha256": release.content or None,
        "key": release.key or None,
    }


class ListSigningKeys(WholeListView):
    """The current and former public keys for result bundles, oldest first."""

    @extend_schema(responses=list_of(SigningKeySerializer))
    def get(self, request: Request) -> Response:
        """Return each key with its identifier."""
        return whole_list(
            [
                {
                    "id": key_id(key.public),
                    "key": key.public,
                    "date": for_programs(key.made_at),
                    "successor": key.successor.public if key.successor else None,
                    "statement": key.statement or None,
                }
                for key in all_keys()
            ]
        )
