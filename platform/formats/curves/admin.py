"""Benchmarks, scores of models, proofs and what they lowered in the admin."""

from __future__ import annotations

from django.contrib import admin

from core.administration.admin_base_classes import ReadOnlyAdmin, model_field_names
from core.administration.link_columns import labelled, linked
from core.administration.list_filters import SeenRelatedFilter
from formats.curves.benchmark_work import benchmarks
from formats.curves.best_known.proof_work import proofs
from formats.curves.models import Benchmark, Improvement, ModelScore, Proof
from workers.work_item_admin import STATE_COLOURS, ItemAdmin, item_actions


@admin.register(Benchmark)
class BenchmarkAdmin(ItemAdmin):
    """One attack against one model."""

    replay, retry_now, give_up = item_actions(
        benchmarks,
        "benchmark",
        replayed="Its submission has a score when all its benchmarks are played.",
        given_up="A score of its submission waits until it is replayed. On a leaderboard, without a score so far, "
        "its slot is refunded.",
    )
    list_display = (
        "__str__", linked("submission"), linked("round"), labelled("state", STATE_COLOURS), "priority", "accuracy",
        "reason", "worker", "faults", "queued_at",
    )  # fmt: skip
    list_filter = (("rules__competition", SeenRelatedFilter), "state", "attack")
    list_select_related = ("submission", "round__competition", "rules__competition")
    search_fields = ("=submission__pk", "worker")
    fields = model_field_names(Benchmark, without=["seed"])


@admin.register(ModelScore)
class ModelScoreAdmin(ReadOnlyAdmin):
    """Standings under each threat model; they follow from benchmarks."""

    list_display = ("__str__", linked("submission"), "accuracy", "clean_accuracy", "median_distance", "scored_at")
    list_filter = (("rules__competition", SeenRelatedFilter), "knowledge", "goal", "norm")
    list_select_related = ("submission", "rules__competition")
    search_fields = ("=submission__pk",)
    fields = model_field_names(ModelScore)


@admin.register(Proof)
class ProofAdmin(ItemAdmin):
    """Images that somebody uploaded against a released model."""

    replay, retry_now, give_up = item_actions(
        proofs, "proof", replayed="", given_up="It lowers nothing until it is replayed.", verb="verifies"
    )
    list_display = (
        "__str__", linked("by"), labelled("state", STATE_COLOURS), "outcome", "images", "reason", "worker", "faults",
        "uploaded_at",
    )  # fmt: skip
    list_filter = (("round_entry__round__competition", SeenRelatedFilter), "state", "outcome")
    list_select_related = ("by", "round_entry__submission", "round_entry__round")
    search_fields = ("=round_entry__submission__pk", "by__username", "worker")
    fields = model_field_names(Proof)


@admin.register(Improvement)
class ImprovementAdmin(ReadOnlyAdmin):
    """Best known distances that proofs lowered; they follow from the proofs."""

    show_full_result_count = False
    list_display = ("__str__", linked("proof"), "image", "norm", "distance", "at")
    list_filter = (("proof__round_entry__round__competition", SeenRelatedFilter), "norm")
    list_select_related = ("proof__round_entry__submission", "proof__round_entry__round")
    search_fields = ("=proof__pk",)
    fields = model_field_names(Improvement)
