"""Challenges in the admin."""

from __future__ import annotations

from django.contrib import admin

from core.administration.admin_base_classes import model_field_names
from core.administration.link_columns import labelled, linked
from core.administration.list_filters import SeenRelatedFilter
from formats.query.challenges.challenge_work import challenges
from formats.query.challenges.models import Challenge
from workers.work_item_admin import STATE_COLOURS, ItemAdmin, item_actions


@admin.register(Challenge)
class ChallengeAdmin(ItemAdmin):
    """Unranked matches that teams requested."""

    replay, retry_now, give_up = item_actions(
        challenges,
        "challenge",
        replayed="It then counts for the limit of its team.",
        given_up="It does not count for the limit of its team.",
    )
    list_display = (
        "__str__", linked("submission"), "opponent_name", labelled("state", STATE_COLOURS), "median", "worker",
        "faults", "requested_at",
    )  # fmt: skip
    list_filter = (("rules__competition", SeenRelatedFilter), "state")
    list_select_related = ("submission", "rules__competition")
    search_fields = ("=submission__pk", "=opponent__pk", "baseline", "by__username", "worker")
    fields = model_field_names(Challenge)
