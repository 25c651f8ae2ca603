"""Serializers of the transfer format. Scores are shares from 0 to 1, rounded as on the pages."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rest_framework import serializers

from api.rounded_fields import MomentField, SecondsField, ShareField


class StandingSerializer(serializers.Serializer[Any]):
    """The standing of a submission that counts on a leaderboard, as its row there.

    `low` to `high`: the 95 % interval of the score. `rank_low` to `rank_high`: the 95 % rank interval. All are null
    with fewer than ten images. While the leaderboards are frozen, the three ranks of a submission are null.
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


class RunsSerializer(serializers.Serializer[Any]):
    """How many runs of a submission are `played`, of those `needed`, as far as known."""

    played = serializers.IntegerField()
    needed = serializers.IntegerField()


class PairNumbersSerializer(serializers.Serializer[Any]):
    """An attack against a defence, as counts of images, and the share with a point for the attack with its interval.

    Of `images` the attack made `made`, of which the defence labelled `labelled`: `correct` with the true class, `hits`
    with the target class.
    """

    images = serializers.IntegerField()
    made = serializers.IntegerField()
    labelled = serializers.IntegerField()
    correct = serializers.IntegerField()
    hits = serializers.IntegerField()
    success = ShareField(allow_null=True)
    low = ShareField(allow_null=True)
    high = ShareField(allow_null=True)


class TransferBoardRowSerializer(StandingSerializer):
    """A row of a leaderboard, with shares from 0 to 1.

    `team` is empty and `submission` null for a baseline that no team submitted; `rank`, `score`, `raw` and `worst` are
    null if no opponent counts.
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
    """A whole leaderboard. While it is frozen (`frozen_since`), it has no rows."""

    frozen_since = serializers.SerializerMethodField()
    rows = TransferBoardRowSerializer(many=True)
    under_way = UnderWaySerializer(many=True)

    def get_frozen_since(self, board: object) -> datetime | None:
        """Return the time of the freeze that hides the rows, or None."""
        since: datetime | None = self.context["frozen_since"]
        return since


class TransferPlaceSerializer(serializers.Serializer[Any]):
    """An entry of a published round, with shares from 0 to 1.

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
