"""Benchmarks and scores of models in the admin."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter

from core.administration.actions import AdminAction, confirmed_action
from core.administration.columns import labelled, linked
from core.administration.permissions import ReadOnlyAdmin, model_field_names
from formats.curves.models import Benchmark, ModelScore
from formats.curves.work import benchmarks

STATE_COLOURS = {"waiting": "info", "claimed": "warning", "played": "success", "failed": "danger"}

_REPLAY = confirmed_action(
    AdminAction(
        "Replay",
        "Plays each failed benchmark again. Its submission has a score when all its benchmarks are played.",
        "queued for a replay",
        lambda row, by, reason: benchmarks.replay(row, by, reason),
    )
)
_RETRY_NOW = confirmed_action(
    AdminAction(
        "Retry now",
        "Forgets the faults on each waiting benchmark, so that the next free worker plays it.",
        "queued",
        lambda row, by, reason: benchmarks.retry_now(row, by, reason),
    )
)
_GIVE_UP = confirmed_action(
    AdminAction(
        "Give up",
        "Fails each waiting benchmark that had faults. Its submission has no score until it is replayed.",
        "given up",
        lambda row, by, reason: benchmarks.give_up(row, by, reason),
    )
)


@admin.register(Benchmark)
class BenchmarkAdmin(ReadOnlyAdmin):
    """One attack against one model, with what operators may do about failed and waiting ones."""

    organised_by = "rules__competition__organisers"
    show_full_result_count = False
    actions = ("replay", "retry_now", "give_up")
    actions_detail = ("replay", "retry_now", "give_up")
    replay = _REPLAY
    retry_now = _RETRY_NOW
    give_up = _GIVE_UP
    list_display = (
        "__str__", linked("submission"), linked("round"), labelled("state", STATE_COLOURS), "priority", "accuracy",
        "reason", "worker", "faults", "queued_at",
    )  # fmt: skip
    list_filter = (("rules__competition", RelatedOnlyFieldListFilter), "state", "attack")
    list_select_related = ("submission", "round__competition", "rules__competition")
    search_fields = ("=submission__pk", "worker")
    fields = model_field_names(Benchmark)


@admin.register(ModelScore)
class ModelScoreAdmin(ReadOnlyAdmin):
    """Standings under each threat model; they follow from benchmarks."""

    organised_by = "rules__competition__organisers"
    list_display = ("__str__", linked("submission"), "accuracy", "clean_accuracy", "median_distance", "scored_at")
    list_filter = (("rules__competition", RelatedOnlyFieldListFilter), "knowledge", "goal", "norm")
    list_select_related = ("submission", "rules__competition")
    search_fields = ("=submission__pk",)
    fields = model_field_names(ModelScore)
