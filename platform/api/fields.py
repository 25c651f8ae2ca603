"""Numbers that come out of secret samples, rounded as on the pages (`core.precision`)."""

from __future__ import annotations

from datetime import datetime

from rest_framework import serializers

from core import precision


class DistanceField(serializers.FloatField):
    """A distance."""

    def to_representation(self, value: float) -> float:  # type: ignore[override]
        return precision.distance(value)


class SecondsField(serializers.FloatField):
    """A length of time in seconds."""

    def to_representation(self, value: float) -> float:  # type: ignore[override]
        return precision.seconds(value)


class QueriesField(serializers.FloatField):
    """A mean number of queries."""

    def to_representation(self, value: float) -> int:  # type: ignore[override]
        return precision.queries(value)


class MomentField(serializers.DateTimeField):
    """When something ended."""

    def to_representation(self, value: datetime) -> str:
        return super().to_representation(precision.moment(value))
