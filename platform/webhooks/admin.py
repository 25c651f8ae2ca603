"""Admin pages of the organisers' webhooks. Those of teams are on the pages of the teams alone."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import CheckboxSelectMultiple, ModelForm, MultipleChoiceField
from django.http import HttpRequest

from accounts.selectors import signed_in_user
from core.administration.admin_base_classes import ManagedAdmin, ReadOnlyAdmin
from core.administration.confirmed_actions import AdminAction, ReasonForm, confirmed_action
from core.administration.link_columns import linked
from core.administration.list_filters import SeenRelatedFilter
from core.roles import Right
from webhooks import services
from webhooks.models import Delivery, Webhook, WebhookEvent


@admin.register(Webhook)
class WebhookAdmin(ManagedAdmin):
    """Addresses to which the site sends what happens in a competition, for its organisers."""

    viewing = Right.RUN
    list_display = ("address", linked("competition"), "made_at", "failing_since", "disabled_at")
    list_filter = (("competition", SeenRelatedFilter),)
    list_select_related = ("competition",)
    search_fields = ("address", "competition__slug")
    readonly_fields = ("made_at", "failing_since", "disabled_at")
    counts = ("deliveries",)
    send_test = confirmed_action(
        AdminAction(
            title="Send a test",
            effect="It gets a test delivery.",
            done="tested",
            call=lambda row, by, reason: services.ask_for_test(webhook=row, by=by),
            form=ReasonForm,
        )
    )
    enable = confirmed_action(
        AdminAction(
            title="Enable",
            effect="A webhook that was disabled gets again what happens from now on.",
            done="enabled",
            call=lambda row, by, reason: services.enable(webhook=row, by=by),
        )
    )
    actions = ("send_test", "enable")
    actions_detail = ("send_test", "enable")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return those of organisers."""
        return super().get_queryset(request).filter(team=None)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the field; events are chosen from a list."""
        if db_field.name == "events":
            choices = WebhookEvent.choices
            return MultipleChoiceField(choices=choices, initial=WebhookEvent.values, widget=CheckboxSelectMultiple)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: another address is another webhook."""
        return False

    def save_model(self, request: HttpRequest, obj: Webhook, form: ModelForm[Any], change: bool) -> None:
        """Add the webhook, and show its secret this once."""
        made, secret = services.add_competition_webhook(
            competition=obj.competition, address=obj.address, events=obj.events, by=signed_in_user(request)
        )
        obj.pk, obj.made_at = made.pk, made.made_at
        messages.warning(request, f"The secret that signs its requests, shown only now: {secret}")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return what goes with a webhook: its deliveries, which nobody may remove alone."""
        listed, counts, _, protected = super().get_deleted_objects(objs, request)
        return listed, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Remove the webhook with its deliveries."""
        services.remove(webhook=obj, by=signed_in_user(request))


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    """Requests to the organisers' webhooks, with the answers."""

    viewing = Right.RUN
    list_display = (
        "event",
        linked("webhook"),
        "state",
        "status",
        "milliseconds",
        "attempts",
        "at",
        "sent_at",
        "due_at",
    )
    list_filter = ("state", "event")
    list_select_related = ("webhook",)
    search_fields = ("key", "subject")
    date_hierarchy = "at"
    send_again = confirmed_action(
        AdminAction(
            title="Send again",
            effect="It is sent once more, with the same id and content.",
            done="sent again",
            call=lambda row, by, reason: services.ask_again(delivery=row, by=by),
        )
    )
    actions = ("send_again",)
    actions_detail = ("send_again",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return those to webhooks of organisers."""
        return super().get_queryset(request).filter(webhook__team=None)
