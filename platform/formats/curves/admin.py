"""Benchmarks, scores of models, proofs and what they lowered in the admin."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter

from core.administration.actions import AdminAction, confirmed_action, counted
from core.administration.columns import labelled, linked
from core.administration.permissions import ReadOnlyAdmin, model_field_names
from formats.curves.best_known.work import proofs
from formats.curves.models import Benchmark, Improvement, ModelScore, Proof
from formats.curves.work import benchmarks

STATE_COLOURS = {"waiting": "info", "claimed": "warning", "played": "success", "failed": "danger"}

_REPLAY = confirmed_action(
    AdminAction(
        "Replay",
        "Plays each failed benchmark again. Its submission has a score when all its benchmarks are played.",
        "queued for a replay",
        lambda row, by, reason: benchmarks.replay(row, by, reason),
        costs=lambda rows: f"worker time for {counted(len(rows), 'benchmark')}.",
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

    organised_by = "rules__competition__organiser_roles"
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

    organised_by = "rules__competition__organiser_roles"
    list_display = ("__str__", linked("submission"), "accuracy", "clean_accuracy", "median_distance", "scored_at")
    list_filter = (("rules__competition", RelatedOnlyFieldListFilter), "knowledge", "goal", "norm")
    list_select_related = ("submission", "rules__competition")
    search_fields = ("=submission__pk",)
    fields = model_field_names(ModelScore)


@admin.register(Proof)
class ProofAdmin(ReadOnlyAdmin):
    """Images that somebody uploaded against a released model, with what operators may do about failed verifications."""

    organised_by = "round_entry__round__competition__organiser_roles"
    show_full_result_count = False
    actions = ("replay", "retry_now", "give_up")
    actions_detail = ("replay", "retry_now", "give_up")
    replay = confirmed_action(
        AdminAction(
            "Replay",
            "Verifies each failed proof again.",
            "queued for a replay",
            lambda row, by, reason: proofs.replay(row, by, reason),
        )
    )
    retry_now = confirmed_action(
        AdminAction(
            "Retry now",
            "Forgets the faults on each waiting proof, so that the next free worker verifies it.",
            "queued",
            lambda row, by, reason: proofs.retry_now(row, by, reason),
        )
    )
    give_up = confirmed_action(
        AdminAction(
            "Give up",
            "Fails each waiting proof that had faults. It lowers nothing until it is replayed.",
            "given up",
            lambda row, by, reason: proofs.give_up(row, by, reason),
        )
    )
    list_display = (
        "__str__", linked("by"), labelled("state", STATE_COLOURS), "outcome", "images", "reason", "worker", "faults",
        "uploaded_at",
    )  # fmt: skip
    list_filter = (("round_entry__round__competition", RelatedOnlyFieldListFilter), "state", "outcome")
    list_select_related = ("by", "round_entry__submission", "round_entry__round")
    search_fields = ("=round_entry__submission__pk", "by__username", "worker")
    fields = model_field_names(Proof)


@admin.register(Improvement)
class ImprovementAdmin(ReadOnlyAdmin):
    """Best known distances that proofs lowered; they follow from the proofs."""

    organised_by = "proof__round_entry__round__competition__organiser_roles"
    show_full_result_count = False
    list_display = ("__str__", linked("proof"), "image", "norm", "distance", "at")
    list_filter = (("proof__round_entry__round__competition", RelatedOnlyFieldListFilter), "norm")
    list_select_related = ("proof__round_entry__submission", "proof__round_entry__round")
    search_fields = ("=proof__pk",)
    fields = model_field_names(Improvement)
