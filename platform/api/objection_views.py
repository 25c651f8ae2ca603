"""Objections to the results of rounds: those that a reader sees, and what teams do."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import AccessToken
from accounts.selectors import teams_of
from api.access import competition_of, one_of, signed_in
from api.base_views import ApiView, WholeListView
from api.pagination import list_of, whole_list
from api.request_bodies import ObjectSerializer, values_of
from rounds.models import Objection, Round
from rounds.objections.filing import file_objection, require_period, withdraw_objection
from rounds.objections.selectors import ShownObjection, all_objections, objecting_team, shown_objections


class ObjectionSerializer(serializers.Serializer[Any]):
    """An objection and its answer. `submission` is that of the entry that it concerns, `match` the key of the match."""

    number = serializers.IntegerField()
    team = serializers.CharField()
    to = serializers.CharField()
    submission = serializers.IntegerField(allow_null=True)
    match = serializers.CharField(allow_null=True)
    text = serializers.CharField()
    made_at = serializers.DateTimeField()
    state = serializers.CharField()
    answer = serializers.CharField()
    closed_at = serializers.DateTimeField(allow_null=True)


class ListObjections(WholeListView):
    """The objections to the result of a round that you may see, with their answers."""

    scope_of_changes = AccessToken.Scope.TEAM

    @extend_schema(responses=list_of(ObjectionSerializer))
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Return them, the oldest first: those with an answer, those of the own team, and for organisers all."""
        shown = _round_of(request, slug, number)
        return whole_list([objection_values(each) for each in shown_objections(shown, request.user)])

    @extend_schema(
        operation_id="object",
        description="Object to the result of a round, to the place of a submission or to a match in it, as a member of "
        "a team that took part.",
        request=ObjectSerializer,
        responses={201: ObjectionSerializer},
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Object and return the objection."""
        shown, by = _round_of(request, slug, number), signed_in(request)
        if objecting_team(by, shown) is None:
            raise PermissionDenied(f"only members of a team that took part in {shown.title} can object to its result")
        values = values_of(request, ObjectSerializer)
        require_period(shown)  # before the entries are looked at: who takes part is secret until the publication
        submission = values.pop("submission")
        if submission is not None:
            values["entry"] = one_of(shown.entries.all(), "submission in this round", submission=submission).pk
        made = file_objection(round_=shown, by=by, **values)
        return Response(shown_objection(shown, made.pk), status=status.HTTP_201_CREATED)


class WithdrawObjection(ApiView):
    """Withdraw an open objection of your team."""

    scope_of_changes = AccessToken.Scope.TEAM

    @extend_schema(request=None, responses=ObjectionSerializer)
    def post(self, request: Request, slug: str, number: int, objection: int) -> Response:
        """Withdraw the objection with this number and return it."""
        shown, by = _round_of(request, slug, number), signed_in(request)
        own = Objection.objects.filter(round=shown, team__in=teams_of(by)).select_related("team", "round")
        withdraw_objection(objection=one_of(own, "objection of your team", pk=objection), by=by)
        return Response(shown_objection(shown, objection))


def shown_objection(round_: Round, objection: int) -> dict[str, Any]:
    """Return an objection to a round as values for JSON."""
    (shown,) = (each for each in all_objections(round_) if each.row.pk == objection)
    return objection_values(shown)


def objection_values(shown: ShownObjection) -> dict[str, Any]:
    """Return an objection as values for JSON."""
    row = shown.row
    return {
        "number": row.pk,
        "team": row.team.slug,
        "to": shown.title,
        "submission": row.entry.submission_id if row.entry else None,
        "match": shown.match or None,
        "text": row.text,
        "made_at": row.made_at,
        "state": row.state,
        "answer": row.answer,
        "closed_at": row.closed_at,
    }


def _round_of(request: Request, slug: str, number: int) -> Round:
    rounds = competition_of(request, slug).rounds.select_related("window", "competition")
    return one_of(rounds, "round", number=number)
