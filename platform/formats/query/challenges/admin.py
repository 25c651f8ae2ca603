"""Challenges in the admin."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter

from core.administration.actions import AdminAction, confirmed_action, counted
from core.administration.columns import labelled, linked
from core.administration.permissions import ReadOnlyAdmin, model_field_names
from formats.query.challenges.models import Challenge
from formats.query.challenges.work import challenges

STATE_COLOURS = {"waiting": "info", "claimed": "warning", "played": "success", "failed": "danger"}


@admin.register(Challenge)
class ChallengeAdmin(ReadOnlyAdmin):
    """Unranked matches that teams requested, with what operators may do about failed and waiting ones."""

    organised_by = "rules__competition__organiser_roles"
    show_full_result_count = False
    actions = ("replay", "retry_now", "give_up")
    actions_detail = ("replay", "retry_now", "give_up")
    replay = confirmed_action(
        AdminAction(
            "Replay",
            "Plays each failed challenge again. It then counts for the limit of its team.",
            "queued for a replay",
            lambda row, by, reason: challenges.replay(row, by, reason),
            costs=lambda rows: f"worker time for {counted(len(rows), 'challenge')}.",
        )
    )
    retry_now = confirmed_action(
        AdminAction(
            "Retry now",
            "Forgets the faults on each waiting challenge, so that the next free worker plays it.",
            "queued",
            lambda row, by, reason: challenges.retry_now(row, by, reason),
        )
    )
    give_up = confirmed_action(
        AdminAction(
            "Give up",
            "Fails each waiting challenge that had faults. It does not count for the limit of its team.",
            "given up",
            lambda row, by, reason: challenges.give_up(row, by, reason),
        )
    )
    list_display = (
        "__str__", linked("submission"), "opponent_name", labelled("state", STATE_COLOURS), "median", "worker",
        "faults", "requested_at",
    )  # fmt: skip
    list_filter = (("rules__competition", RelatedOnlyFieldListFilter), "state")
    list_select_related = ("submission", "rules__competition")
    search_fields = ("=submission__pk", "=opponent__pk", "baseline", "by__username", "worker")
    fields = model_field_names(Challenge)
