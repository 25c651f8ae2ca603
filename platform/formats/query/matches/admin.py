"""Matches, pieces and sample results in the admin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin

from competitions.admin import RulesVersionAdmin, SampleSetAdmin
from core.administration.admin_base_classes import ReadOnlyAdmin, model_field_names
from core.administration.confirmed_actions import AdminAction, confirmed_action, counted
from core.administration.link_columns import labelled, linked
from core.administration.list_filters import SeenRelatedFilter, one_of
from evaluation.domain.failure_reasons import Reason
from evaluation.formats.query.results import Outcome
from formats.query.matches import services
from formats.query.matches.extension_points import replay_notes
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.matches.piece_work import pieces
from submissions.admin import PlayerAdmin
from workers.admin import WorkerAdmin

RulesVersionAdmin.add_counts("matches")
SampleSetAdmin.add_counts("matches")
PlayerAdmin.add_counts("matches_as_model", "matches_as_attack")
WorkerAdmin.add_counts("pieces")

STATE_COLOURS = {
    "waiting": "info",
    "playing": "warning",
    "claimed": "warning",
    "played": "success",
    "failed": "danger",
    "suspended": "primary",
    "cancelled": "default",
}


def _before_replay(row: Any) -> list[str]:
    """Return what an organiser must still do after a replay; `row` has its counts annotated."""
    return [note for notes in replay_notes.answers(row) for note in notes]


def _pieces_played(rows: Sequence[Match]) -> str:
    failed = Piece.objects.filter(match__in=rows, state=Piece.State.FAILED)
    return f"worker time for {counted(failed.count(), 'piece')}."


@admin.register(Match)
class MatchAdmin(ReadOnlyAdmin):
    """Matches of attacks against models."""

    counts = ("pieces", "sample_results")
    list_display = (
        "__str__",
        labelled("state", STATE_COLOURS),
        linked("model"),
        linked("attack"),
        linked("sample_set"),
        linked("rules"),
        "repetition",
        "needs_gpu",
        "created_at",
        "finished_at",
    )
    list_filter = ("state", ("rules__competition", SeenRelatedFilter), "attack__track_name", "needs_gpu")
    list_select_related = ("model", "attack", "sample_set__competition", "rules__competition")
    search_fields = ("=pk",)
    fields = model_field_names(Match, without=["seed"])
    search_related: ClassVar = {"model": ("title", "digest"), "attack": ("title", "digest")}
    search_help_text = "A match's number, or a player's title or digest"
    date_hierarchy = "created_at"
    actions = ("replay",)
    actions_detail = ("replay",)

    replay = confirmed_action(
        AdminAction(
            "Replay",
            "Plays the failed pieces of each failed match again. Played pieces are kept. "
            "A round that this match stopped continues. A paused round continues when it is resumed.",
            "queued for a replay",
            lambda row, by, reason: services.replay_failed(row, by, reason),
            notes=_before_replay,
            costs=_pieces_played,
        )
    )


@admin.register(Piece)
class PieceAdmin(ReadOnlyAdmin):
    """Batches of samples that workers claim."""

    counts = ("sample_results",)
    list_display = (
        "__str__",
        labelled("state", STATE_COLOURS),
        linked("match"),
        "priority",
        linked("entry"),
        "first",
        "count",
        linked("worker"),
        "fence",
        "faults",
        "host_faults",
        "fault_hosts",
        "lease_until",
        "paused_until",
        "played_at",
        "seconds",
    )
    list_filter = ("state", "priority", "worker_class", ("match__rules__competition", SeenRelatedFilter))
    list_select_related = ("match", "worker", "entry__team", "entry__competition")
    search_fields = ("=match__pk",)
    search_related: ClassVar = {"worker": ("name",)}
    search_help_text = "A match's number, or a worker's name"
    show_full_result_count = False
    actions = ("retry_now", "give_up")
    actions_detail = ("retry_now", "give_up")

    retry_now = confirmed_action(
        AdminAction(
            "Retry now",
            "Forgets the faults on each waiting piece, so that the next free worker plays it.",
            "queued",
            lambda row, by, reason: pieces.retry_now(row, by, reason),
        )
    )
    give_up = confirmed_action(
        AdminAction(
            "Give up",
            "Fails each waiting piece that had faults, and its match. An evaluation that needs it ends without a "
            "score, at no cost to its team. You can replay the match.",
            "given up",
            lambda row, by, reason: pieces.give_up(row, by, reason),
        )
    )


@admin.register(SampleResult)
class SampleResultAdmin(ReadOnlyAdmin):
    """One row per sample of a match. The found label is not shown: it can reveal the secret target."""

    list_display = (
        "__str__",
        linked("match"),
        linked("piece"),
        "outcome",
        "distance",
        "worst_case",
        "queries",
        "seconds",
        "reason",
    )
    list_filter = (
        one_of("outcome", Outcome),
        one_of("reason", ("", *Reason)),
        ("match__rules__competition", SeenRelatedFilter),
    )
    list_select_related = ("match", "piece__match")
    search_fields = ("=match__pk",)
    show_full_result_count = False
    fields = model_field_names(SampleResult, without=["found_label"])
