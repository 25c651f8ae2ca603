"""Bodies of requests. They check formats only; the services decide what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from accounts.models import Team
from competitions.models import MAX_OBJECTION_DAYS, Announcement
from rounds.models import Release, Round
from rounds.objections.filing import MOST_TEXT
from webhooks.models import WebhookEvent
from webhooks.receiver_address import LONGEST

_JSON_TYPES: Mapping[type[serializers.Field[Any, Any, Any, Any]], tuple[type, str]] = {
    serializers.CharField: (str, "a string"),
    serializers.DateTimeField: (str, "a string"),
    serializers.BooleanField: (bool, "true or false"),
    serializers.IntegerField: (int, "a whole number"),
    serializers.ListField: (list, "a list"),
}
"""The types of values. The library converts others, so that a number would become a reason."""


class BodySerializer(serializers.Serializer[Any]):
    """A body that has these names only: one that is misspelt would be ignored otherwise."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the values. Raise 400 for an unknown name, and for a value of another type."""
        given = data if isinstance(data, Mapping) else {}
        problems = {name: problem for name, value in given.items() if (problem := self._problem(name, value))}
        if problems:
            raise ValidationError(problems)
        return super().to_internal_value(data)

    def _problem(self, name: str, value: Any) -> str:
        """Return why a name or the type of its value is wrong, "" if neither is."""
        if name not in self.fields:
            return f"unknown; the body may have {', '.join(self.fields)}"
        field = self.fields[name]
        for kind, (expected, words) in _JSON_TYPES.items():
            # the field says whether it may be null
            if isinstance(field, kind) and value is not None and type(value) is not expected:
                return f"use {words}"
        return ""


class ReasonSerializer(BodySerializer):
    """The reason of an act, saved in the event log. Where the act says so, teams read it."""

    reason = serializers.CharField(max_length=1000)


class PlanSerializer(ReasonSerializer):
    """A round to plan. `sample_set` is the name of an imported secret set, of which `samples` are drawn.

    `schedule` and `guard` are for the query format alone. `objection_days` is the number of the competition if it is
    null or missing.
    """

    title = serializers.CharField(max_length=120)
    kind = serializers.ChoiceField(choices=Round.Kind.choices)
    sample_set = serializers.CharField(max_length=60)
    samples = serializers.IntegerField(min_value=1)
    schedule = serializers.CharField(max_length=8, default="", allow_blank=True)
    guard = serializers.BooleanField(default=False)
    starts_at = serializers.DateTimeField(default_timezone=UTC)
    ends_at = serializers.DateTimeField(default_timezone=UTC)
    objection_days = serializers.IntegerField(min_value=0, max_value=MAX_OBJECTION_DAYS, default=None, allow_null=True)


class ExtendSerializer(ReasonSerializer):
    """The new end of the freeze window of a round."""

    ends_at = serializers.DateTimeField(default_timezone=UTC)


class PublishSerializer(ReasonSerializer):
    """`preview` is the `digest` of the preview that you looked at: if it has changed since, nothing is published."""

    preview = serializers.CharField(max_length=64)


class PartSerializer(ReasonSerializer):
    """The part of a round to release or withdraw."""

    part = serializers.ChoiceField(choices=Release.Part.choices)


class AnnounceSerializer(BodySerializer):
    """An announcement; its text is Markdown. Without a time it is published now, before its time organisers see it."""

    title = serializers.CharField(max_length=120)
    text = serializers.CharField(validators=Announcement._meta.get_field("text").validators)
    published_at = serializers.DateTimeField(default_timezone=UTC, default=None, allow_null=True)


class CommitSerializer(BodySerializer):
    """The commit to submit."""

    commit = serializers.CharField(max_length=64)


class ChallengeRequestSerializer(BodySerializer):
    """The opponent: the name of a bundled baseline, or the number of a submission whose code is released."""

    opponent = serializers.CharField(max_length=60)


class FoundTeamSerializer(BodySerializer):
    """A new team. `terms` is the digest of the terms of the competition, which its founder accepts."""

    slug = serializers.CharField(max_length=40, validators=Team._meta.get_field("slug").validators[:1])
    name = serializers.CharField(max_length=80)
    terms = serializers.CharField(max_length=64, default="", allow_blank=True)


class InviteSerializer(BodySerializer):
    """The user name of a person to invite."""

    username = serializers.CharField(max_length=150)


class AcceptTermsSerializer(BodySerializer):
    """The digest of the terms that the captain has read and accepts."""

    terms = serializers.CharField(max_length=64)


class ObjectSerializer(BodySerializer):
    """An objection to the result of a round, or to the place of a `submission`, or to a `match` by its key."""

    text = serializers.CharField(max_length=MOST_TEXT)
    submission = serializers.IntegerField(min_value=1, default=None, allow_null=True)
    match = serializers.CharField(max_length=40, default="", allow_blank=True)


class AddWebhookSerializer(BodySerializer):
    """An https address that everybody can reach, and the events that it gets."""

    address = serializers.CharField(max_length=LONGEST)
    events = serializers.ListField(child=serializers.ChoiceField(choices=WebhookEvent.choices), min_length=1)


def values_of(request: Request, body: type[BodySerializer]) -> dict[str, Any]:
    """Return the values of the body of a request. Raise 400 where they have the wrong form."""
    serializer = body(data=request.data)
    serializer.is_valid(raise_exception=True)
    values: dict[str, Any] = serializer.validated_data
    return values
