"""Webhooks of a team, for its captain."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import AccessToken, User
from api.access import check_captain, entry_of, one_of
from api.base_views import ApiView, WholeListView
from api.pagination import list_of, whole_list
from api.request_bodies import AddWebhookSerializer, values_of
from api.serializers import AnswerSerializer
from competitions.models import Entry
from webhooks import services
from webhooks.models import Delivery, Webhook
from webhooks.selectors import newest_deliveries, webhooks_of


class WebhookSerializer(AnswerSerializer[Webhook]):
    """A webhook; `waiting` is the number of its deliveries that are not over."""

    number = serializers.IntegerField(source="pk")
    events = serializers.ListField(child=serializers.CharField())
    made_by = serializers.CharField(source="made_by.username")
    waiting = serializers.IntegerField()

    class Meta:
        model = Webhook
        fields: tuple[str, ...] = (
            *("number", "address", "events", "made_at", "made_by", "failing_since", "disabled_at", "waiting"),
        )


class NewWebhookSerializer(WebhookSerializer):
    """A new webhook with the `secret` that signs its requests, which no other answer has."""

    secret = serializers.SerializerMethodField()

    class Meta(WebhookSerializer.Meta):
        fields = (*WebhookSerializer.Meta.fields, "secret")

    def get_secret(self, webhook: Webhook) -> str:
        """Return the secret."""
        return str(self.context["secret"])


class DeliverySerializer(AnswerSerializer[Delivery]):
    """A delivery: `id` is that in its request, `status` that of the answer, null without one."""

    number = serializers.IntegerField(source="pk")
    id = serializers.UUIDField(source="key")

    class Meta:
        model = Delivery
        fields = (
            *("number", "id", "event", "at", "asked_at", "state", "due_at", "attempts", "sent_at"),
            *("status", "milliseconds", "answer", "problem"),
        )


class WholeWebhookSerializer(WebhookSerializer):
    """A webhook with its newest 50 deliveries."""

    deliveries = serializers.SerializerMethodField()

    class Meta(WebhookSerializer.Meta):
        fields = (*WebhookSerializer.Meta.fields, "deliveries")

    @extend_schema_field(DeliverySerializer(many=True))
    def get_deliveries(self, webhook: Webhook) -> object:
        """Return the newest deliveries."""
        return DeliverySerializer(newest_deliveries(webhook), many=True).data


class ListWebhooks(WholeListView):
    """The webhooks of a team, for its captain."""

    scope_of_changes = AccessToken.Scope.TEAM

    @extend_schema(responses=list_of(WebhookSerializer))
    def get(self, request: Request, team: str) -> Response:
        """Return all of them, oldest first."""
        entry, _ = _for_captain(request, team)
        return whole_list(WebhookSerializer(webhooks_of(entry).select_related("made_by"), many=True).data)

    @extend_schema(
        operation_id="addWebhook",
        description="Add a webhook of a team, as its captain. Only this answer has the secret that signs its requests; "
        "the same one again within ten minutes changes nothing and answers 200.",
        request=AddWebhookSerializer,
        responses={200: NewWebhookSerializer, 201: NewWebhookSerializer},
    )
    def post(self, request: Request, team: str) -> Response:
        """Add a webhook and return it with its secret, or the same one that was just added."""
        entry, by = _for_captain(request, team)
        values = values_of(request, AddWebhookSerializer)
        made, secret, new = services.add_team_webhook_once(entry=entry, by=by, **values)
        shown = NewWebhookSerializer(_found(entry, made.pk), context={"secret": secret})
        return Response(shown.data, status=status.HTTP_201_CREATED if new else status.HTTP_200_OK)


class ShowWebhook(ApiView):
    """A webhook of a team with its newest deliveries, for the captain."""

    @extend_schema(responses=WholeWebhookSerializer)
    def get(self, request: Request, team: str, webhook: int) -> Response:
        """Return the webhook with this number."""
        entry, _ = _for_captain(request, team)
        return Response(WholeWebhookSerializer(_found(entry, webhook)).data)


class WebhookAct(ApiView):
    """An act of a captain on a webhook."""

    scope_of_changes = AccessToken.Scope.TEAM
    act: ClassVar[Callable[..., object]]
    """The service. It gets the `webhook`, and the person as `by`."""

    @extend_schema(request=None, responses=WholeWebhookSerializer)
    def post(self, request: Request, team: str, webhook: int) -> Response:
        """Act, and return the webhook as it is afterwards."""
        entry, by = _for_captain(request, team)
        self.act(webhook=_found(entry, webhook), by=by)
        return Response(WholeWebhookSerializer(_found(entry, webhook)).data)


class SendTest(WebhookAct):
    """Send a test delivery to a webhook, also to a disabled one."""

    act = staticmethod(services.ask_for_test)


class EnableWebhook(WebhookAct):
    """Enable a disabled webhook: what happens from now on is sent again."""

    act = staticmethod(services.enable)


class RemoveWebhook(ApiView):
    """Remove a webhook with its deliveries."""

    scope_of_changes = AccessToken.Scope.TEAM

    @extend_schema(request=None, responses=WebhookSerializer)
    def post(self, request: Request, team: str, webhook: int) -> Response:
        """Remove the webhook and return it as it was."""
        entry, by = _for_captain(request, team)
        found = _found(entry, webhook)
        shown = WebhookSerializer(found).data
        services.remove(webhook=found, by=by)
        return Response(shown)


class SendAgain(ApiView):
    """Send a delivery that is over again, with the same id and content."""

    scope_of_changes = AccessToken.Scope.TEAM

    @extend_schema(request=None, responses=WholeWebhookSerializer)
    def post(self, request: Request, team: str, webhook: int, delivery: int) -> Response:
        """Send it, and return the webhook as it is afterwards."""
        entry, by = _for_captain(request, team)
        deliveries = _found(entry, webhook).deliveries.select_related("webhook__team", "webhook__competition")
        services.ask_again(delivery=one_of(deliveries, "delivery", pk=delivery), by=by)
        return Response(WholeWebhookSerializer(_found(entry, webhook)).data)


def _for_captain(request: Request, team: str) -> tuple[Entry, User]:
    """Return the entry of a team, and its captain, who sends the request. Raise 401, 403 or 404 otherwise."""
    entry = entry_of(request, team)
    return entry, check_captain(request, entry)


def _found(entry: Entry, webhook: int) -> Webhook:
    return one_of(webhooks_of(entry).select_related("made_by", "team", "competition"), "webhook", pk=webhook)
