"""Rounds in the API. Entrants and results appear only after a round is published."""

from __future__ import annotations

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
from rounds.release.released_parts import released
from rounds.release.signing_keys import all_keys, key_id


class RoundSerializer(serializers.ModelSerializer[Round]):
    """A round in a list. No submission is accepted from `starts_at` to `ends_at`.

    `field_commitment` is the salted hash of the entrants, "" until the round is frozen.
    """

    samples = serializers.IntegerField(source="sample_set.count")
    starts_at = serializers.DateTimeField(source="window.starts_at")
    ends_at = serializers.DateTimeField(source="window.ends_at")
    rules = serializers.IntegerField(source="rules.version", default=None)

    class Meta:
        model = Round
        fields = (
            *("number", "title", "kind", "schedule", "guard", "state", "state_since", "planned_at"),
            *("starts_at", "ends_at", "samples", "commitment", "field_commitment", "rules"),
        )


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
        return {"outcome": None, "standings": {}, "warnings": [], "releases": []}
    result = api_formats.of(shown.competition).round_result(shown)
    return {
        "outcome": shown.outcome,
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
