"""Serializers of the query format. Distances are L2 over pixels / 255, rounded as on the pages."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.rounded_fields import DistanceField, MomentField, QueriesField, SecondsField, ShareField
from api.serializers import AnswerSerializer
from competitions.pseudonyms import public_name
from core import rounding
from formats.query.leaderboards.models import Evaluation
from formats.query.rounds.models import RoundWarning


class QueryBoardRowSerializer(serializers.Serializer[Any]):
    """A row of a leaderboard. `provisional`: not measured under the evaluation basis in force. Such a row has no rank
    and comes after the others, in the order of re-evaluation.

    `rank_low` to `rank_high`: the 95 % rank interval, null if it is not computed; only `rank_high` is null if the
    interval extends below the compared rows. `change`: places won (above 0) or lost in a day under the same basis, null
    without an earlier rank. `failures`: pairs of sample and counted opponent without an adversarial. `met` of
    `opponents` count: an attack's score excludes models of its own team, `value_all` includes them. Models only:
    `samples_not_broken`, the number of samples without an adversarial, and `clean_wrong`, the number of samples
    misclassified without an attack. `chosen`: the team chose this submission; otherwise it is the newest scored one.
    `tried`: the number of submissions that the team could choose from, with a score on the same samples, and
    `expected_gain`: by which share the best of that many equally strong ones is expected to look better than it is. The
    rank interval allows for it. Both are null where the newest submission counts.
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
    samples_not_broken = serializers.IntegerField(source="held", allow_null=True)
    clean_wrong = serializers.IntegerField(allow_null=True)
    worst_opponent = serializers.CharField()
    median_seconds = SecondsField()
    rules = serializers.IntegerField()
    pool = serializers.IntegerField(allow_null=True)
    provisional = serializers.BooleanField()
    chosen = serializers.BooleanField()
    tried = serializers.IntegerField(allow_null=True)
    expected_gain = ShareField(allow_null=True)
    scored_at = MomentField()


class QueryBoardSerializer(serializers.Serializer[Any]):
    """A page of a leaderboard, as of the past time `at`, which is null for the current one.

    `frozen_since` and `frozen_reason` are null if the leaderboard is not frozen.
    """

    page = serializers.IntegerField(source="number")
    pages = serializers.IntegerField()
    total = serializers.IntegerField()
    at = serializers.DateTimeField(allow_null=True)
    frozen_since = serializers.DateTimeField(source="frozen.since", default=None, allow_null=True)
    frozen_reason = serializers.CharField(source="frozen.reason", default=None, allow_null=True)
    rows = QueryBoardRowSerializer(many=True)


class EvaluationSerializer(AnswerSerializer[Evaluation]):
    """An evaluation of a submission, finished or not. Numbers are rounded as on the pages.

    The context has the `titles` of the opponents, by player.
    """

    value = DistanceField(allow_null=True)
    low = DistanceField(allow_null=True)
    high = DistanceField(allow_null=True)
    value_all = DistanceField(allow_null=True)
    samples_not_broken = serializers.IntegerField(source="held", allow_null=True)
    median_seconds = SecondsField(allow_null=True)
    mean_queries = QueriesField(allow_null=True)
    per_opponent = serializers.SerializerMethodField()
    finished_at = MomentField(allow_null=True)
    pool = serializers.IntegerField(source="pool.number")
    sample_set = serializers.CharField(source="sample_set.name")
    rules = serializers.IntegerField(source="rules.version")
    worst_opponent = serializers.CharField(source="worst_opponent.title", default=None, allow_null=True)

    class Meta:
        model = Evaluation
        fields = (
            *("state", "pool", "sample_set", "rules", "value", "low", "high", "samples", "failures"),
            *("met", "value_all", "samples_not_broken", "clean_wrong"),
            *("worst_opponent", "per_opponent", "median_seconds", "mean_queries", "created_at", "finished_at"),
        )

    def get_per_opponent(self, evaluation: Evaluation) -> list[dict[str, Any]]:
        """Return a row for each opponent, in the order of the pool."""
        titles = self.context["titles"]
        return [
            {"player": row["player"], "title": titles[row["player"]], **row, "median": rounding.distance(row["median"])}
            for row in evaluation.per_opponent
        ]


class QueryPlaceSerializer(serializers.Serializer[Any]):
    """An entry of a published round. The scores are null if it was eliminated before the last stage, in `stage`.

    `rank_low` to `rank_high`: the 95 % rank interval within the last stage. `separated_from_next`: true if the
    difference to the next place is significant. `met` of `opponents` count: an attack's score excludes models of its
    own team, `value_against_all` includes them. `prize_place`: place in the order of prizes, in which entries that are
    not eligible have a number, too. `not_broken`: the model was not broken on more than half of the samples, so its
    place is not a rank. `gone`: "withdrawn", "disqualified", "inconsistent" (removed after failed audits) or "".
    `audit_override_reason`: why an organiser kept it in the round despite failed audits.
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


class WarningSerializer(AnswerSerializer[RoundWarning]):
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


class MatchNumbersSerializer(serializers.Serializer[Any]):
    """The numbers of a match: its samples by `outcomes`, and what is typical for one of them."""

    samples = serializers.IntegerField()
    outcomes = serializers.DictField(child=serializers.IntegerField())
    median = DistanceField()
    mean_queries = QueriesField()
    median_seconds = SecondsField()


class MatchSampleSerializer(serializers.Serializer[Any]):
    """The result of a sample. Only matches on public or released samples show it."""

    sample = serializers.IntegerField()
    outcome = serializers.CharField()
    distance = serializers.FloatField()
    queries = serializers.IntegerField()
    seconds = serializers.FloatField()
    reason = serializers.CharField()
    found_label = serializers.IntegerField(allow_null=True)
