"""Serializer fields for numbers that depend on secret samples, rounded as on the pages (`core.rounding`)."""

from __future__ import annotations

from datetime import datetime

from rest_framework import serializers

from core import rounding


class DistanceField(serializers.FloatField):
    """A distance."""

    def to_representation(self, value: float) -> float:  # type: ignore[override]
        return rounding.distance(value)


class ShareField(serializers.FloatField):
    """A share of images, 0 to 1."""

    def to_representation(self, value: float) -> float:  # type: ignore[override]
        return rounding.share(value)


class SecondsField(serializers.FloatField):
    """A duration in seconds."""

    def to_representation(self, value: float) -> float:  # type: ignore[override]
        return rounding.seconds(value)


class QueriesField(serializers.FloatField):
    """A mean number of queries."""

    def to_representation(self, value: float) -> int:  # type: ignore[override]
        return rounding.queries(value)


class MomentField(serializers.DateTimeField):
    """An end time."""

    def to_representation(self, value: datetime) -> str:
        return super().to_representation(rounding.moment(value))
