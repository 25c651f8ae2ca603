"""Rounds in the API. Entrants and results appear only after a round is published."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.access import competition_of, one_of
from api.formats import api_formats
from core.time_format import for_programs
from rounds.models import Release, Round
from rounds.objections.period import period_end, result_state
from rounds.objections.selectors import ShownObjection, shown_objections
from rounds.release.released_parts import released
from rounds.release.signing_keys import all_keys, key_id


class RoundSerializer(serializers.ModelSerializer[Round]):
    """A round in a list. No submission is accepted from `starts_at` to `ends_at`.

    `field_commitment` is the salted hash of the entrants, "" until the round is frozen. `objections_until` is when the
    period for objections ends, null before the publication and where `objection_days` is 0.
    """

    samples = serializers.IntegerField(source="sample_set.count")
    starts_at = serializers.DateTimeField(source="window.starts_at")
    ends_at = serializers.DateTimeField(source="window.ends_at")
    rules = serializers.IntegerField(source="rules.version", default=None)
    objections_until = serializers.SerializerMethodField()

    class Meta:
        model = Round
        fields = (
            *("number", "title", "kind", "schedule", "guard", "state", "state_since", "planned_at"),
            *("starts_at", "ends_at", "samples", "commitment", "field_commitment", "rules"),
            *("objection_days", "objections_until"),
        )

    def get_objections_until(self, shown: Round) -> datetime | None:
        """Return the end of the period for objections."""
        return period_end(shown)


class ListRounds(APIView):
    """GET: the rounds of a competition, including planned and cancelled ones."""

    def get(self, request: Request, slug: str) -> Response:
        """Return all rounds, newest first."""
        rounds = competition_of(request, slug).rounds.select_related("window", "sample_set", "rules")
        return Response(RoundSerializer(rounds.order_by("-number"), many=True).data)


class ShowRound(APIView):
    """GET: a round and, after it is published, its standings, warnings and files."""

    def get(self, request: Request, slug: str, number: int) -> Response:
        """Return the round with `number`."""
        rounds = competition_of(request, slug).rounds.select_related("window", "sample_set", "rules")
        shown = one_of(rounds, "round", number=number)
        return Response({**RoundSerializer(shown).data, **_result(request, slug, shown)})


def _result(request: Request, slug: str, shown: Round) -> dict[str, Any]:
    if shown.state != Round.State.PUBLISHED:
        return {"outcome": None, "provisional": None, "standings": {}, "warnings": [], "releases": []}
    state = result_state(shown)
    result = api_formats.of(shown.competition).round_result(shown)
    return {
        "outcome": shown.outcome,
        "provisional": state is not None and not state.final,
        "standings": result.standings,
        "warnings": result.warnings,
        "releases": [_release(request, slug, shown, each) for each in released(shown).values()],
    }


def _release(request: Request, slug: str, shown: Round, release: Release) -> dict[str, Any]:
    """Return a released part; `address` and `sha256` are null if it is not a file, `key` if it is not signed."""
    address = reverse("pages:round_file", args=[slug, shown.number, release.part]) if release.content else None
    return {
        "part": release.part,
        "released_at": release.released_at,
        "address": request.build_absolute_uri(address) if address else None,
        "sha256": release.content or None,
        "key": release.key or None,
    }


class ListObjections(APIView):
    """GET: the objections to the result of a round that the user sees, with their answers."""

    def get(self, request: Request, slug: str, number: int) -> Response:
        """Return them, the oldest first: those with an answer, those of the own team, and for organisers all."""
        rounds = competition_of(request, slug).rounds.select_related("window", "competition")
        shown = one_of(rounds, "round", number=number)
        return Response([_objection(each) for each in shown_objections(shown, request.user)])


def _objection(shown: ShownObjection) -> dict[str, Any]:
    """Return an objection; `submission` is that of the entry that it concerns, `match` the key of the match."""
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


class ListSigningKeys(APIView):
    """GET: the current and former public keys for result bundles, oldest first."""

    def get(self, request: Request) -> Response:
        """Return each key with its identifier and, after a rotation, its successor and the signed statement."""
        return Response(
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
