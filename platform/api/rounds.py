"""Rounds in the API. Entrants and results appear only after a round is published."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.access import competition_of, one_of
from api.fields import DistanceField, ShareField
from competitions.models import Competition
from competitions.pseudonyms import public_name
from core.times import for_programs
from formats.transfer.rounds import standings as transfer_standings
from rounds.models import Release, Round, RoundWarning
from rounds.release.parts import released
from rounds.release.signing_keys import all_keys, key_id
from rounds.selectors import standings


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


class PlaceSerializer(serializers.Serializer[Any]):
    """An entry of a published round. The scores are null if it was eliminated before the last stage, in `stage`.

    `rank_low` to `rank_high`: the 95 % rank interval within the last stage. `separated_from_next`: true if the
    difference to the next place is significant. `met` of `opponents` count: an attack's score excludes models of its
    own team, `value_against_all` includes them. `prize_place`: place among eligible entries. `not_broken`: the model
    was not broken on more than half of the samples, so its place is not a rank. `gone`: "withdrawn", "disqualified",
    "inconsistent" (removed after failed audits) or "". `audit_override_reason`: why an organiser kept it in the round
    despite failed audits.
    """

    place = serializers.IntegerField(allow_null=True)
    team = serializers.CharField(source="team_slug")
    team_name = serializers.CharField(source="team")
    submission = serializers.IntegerField()
    title = serializers.CharField()
    stage = serializers.IntegerField(allow_null=True)
    value = DistanceField(allow_null=True)
    low = DistanceField(allow_null=True)
    high = DistanceField(allow_null=True)
    met = serializers.IntegerField(allow_null=True)
    opponents = serializers.IntegerField(allow_null=True)
    value_against_all = DistanceField(allow_null=True)
    rank_low = serializers.IntegerField(allow_null=True)
    rank_high = serializers.IntegerField(allow_null=True)
    separated_from_next = serializers.BooleanField()
    prize_place = serializers.IntegerField(allow_null=True)
    failures = serializers.IntegerField(allow_null=True)
    worst_opponent = serializers.CharField()
    not_broken = serializers.BooleanField()
    eligible = serializers.BooleanField()
    ineligible_because = serializers.CharField()
    gone = serializers.CharField()
    audit_override_reason = serializers.CharField()


class TransferPlaceSerializer(serializers.Serializer[Any]):
    """An entry of a published round of the transfer format, with shares from 0 to 1.

    `low` to `high` is the 95 % interval of the score, `rank_low` to `rank_high` that of the place; both are
    null with fewer than ten images. `worst` is the score against the worst opponent, `raw` counts images, `opponents`
    those that count. `score`, `worst` and `raw` are null if none counts. `gone`: "withdrawn", "disqualified" or "".
    """

    place = serializers.IntegerField(source="of.place", allow_null=True)
    team = serializers.CharField(source="of.team_slug")
    team_name = serializers.CharField(source="of.team")
    submission = serializers.IntegerField(source="of.submission")
    title = serializers.CharField(source="of.title")
    rank_low = serializers.IntegerField(source="of.rank_low", allow_null=True)
    rank_high = serializers.IntegerField(source="of.rank_high", allow_null=True)
    score = ShareField(source="of.value", allow_null=True)
    low = ShareField(source="of.low", allow_null=True)
    high = ShareField(source="of.high", allow_null=True)
    raw = serializers.IntegerField(allow_null=True)
    worst = ShareField(allow_null=True)
    coverage = ShareField(allow_null=True)
    opponents = serializers.IntegerField(source="of.opponents", allow_null=True)
    eligible = serializers.BooleanField(source="of.eligible")
    ineligible_because = serializers.CharField(source="of.ineligible_because")
    gone = serializers.CharField(source="of.gone")


class WarningSerializer(serializers.ModelSerializer[RoundWarning]):
    """An eliminated attack that came nearer to a winning model than all counted attacks, on `nearer` of `samples`.

    `median`: the model's score on these samples if the attack counted, too; null for rounds of earlier versions. Both
    are named by their pseudonyms, as in the result bundle.
    """

    attack = serializers.SerializerMethodField()
    model = serializers.SerializerMethodField()
    median = DistanceField(allow_null=True)

    class Meta:
        model = RoundWarning
        fields = ("attack", "model", "nearer", "samples", "median")

    def get_attack(self, warning: RoundWarning) -> str:
        """Return the pseudonym of the attack."""
        return public_name(warning.round.competition, warning.attack.digest)

    def get_model(self, warning: RoundWarning) -> str:
        """Return the pseudonym of the model."""
        return public_name(warning.round.competition, warning.model.digest)


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
    if shown.competition.format == Competition.Format.TRANSFER:
        found = transfer_standings.standings(shown)
        places = {track_name: TransferPlaceSerializer(rows, many=True).data for track_name, rows in found.items()}
    else:
        places = {track_name: PlaceSerializer(rows, many=True).data for track_name, rows in standings(shown).items()}
    warnings = shown.warnings.select_related("attack", "model")
    return {
        "outcome": shown.outcome,
        "standings": places,
        "warnings": WarningSerializer(warnings, many=True).data,
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
