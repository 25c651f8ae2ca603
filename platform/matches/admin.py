"""Workers, matches, pieces and sample results in the admin."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.utils.html import format_html

from core.administration.actions import AdminAction, confirmed_action
from core.administration.columns import count_column, labelled, linked
from core.administration.permissions import ReadOnlyAdmin, model_field_names
from matches import services
from matches.models import Match, Piece, SampleResult, Worker, WorkerTime

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
    """What a replay leaves to do, with a link to the rows that it concerns; `row` comes with its counts."""
    if not row.evaluations_count:
        return []
    words = (
        "An evaluation that ended because of it stays without a score until its submission is measured again. "
        "The site does that once by itself, an hour after it ended; to do it at once, use Re-evaluate, which replays "
        "the failed matches, too. Evaluations with this match: {}"
    )
    return [format_html(words, count_column(Match, "evaluations")(row))]


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    """Processes that play, as they last reported themselves."""

    counts = ("pieces",)
    list_display = ("name", "worker_class", "device", "calibration", "clock_skew", "started_at", "last_seen_at")
    list_filter = ("worker_class",)
    search_fields = ("name", "device")


@admin.register(Match)
class MatchAdmin(ReadOnlyAdmin):
    """Every attack against every model that it met."""

    organised_by = "rules__competition__organisers"
    counts = ("pieces", "sample_results", "evaluations")
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
    list_filter = ("state", ("rules__competition", RelatedOnlyFieldListFilter), "attack__track_name", "needs_gpu")
    list_select_related = ("model", "attack", "sample_set__competition", "rules__competition")
    search_fields = ("=pk", "model__title", "attack__title", "model__digest", "attack__digest")
    date_hierarchy = "created_at"
    actions = ("replay",)
    actions_detail = ("replay",)

    replay = confirmed_action(
        AdminAction(
            "Replay",
            "The failed pieces of each failed match are played again; what is played stays. "
            "A round that it stopped then goes on by itself; one that is paused, when it is resumed.",
            "sent to be played again",
            lambda row, by, reason: services.replay_failed(row, by, reason),
            notes=_before_replay,
        )
    )


@admin.register(Piece)
class PieceAdmin(ReadOnlyAdmin):
    """Batches of samples that workers claim."""

    organised_by = "match__rules__competition__organisers"
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
        "lease_until",
        "played_at",
        "seconds",
    )
    list_filter = ("state", "priority", "worker_class", ("match__rules__competition", RelatedOnlyFieldListFilter))
    list_select_related = ("match", "worker", "entry__team", "entry__competition")
    search_fields = ("=match__pk", "worker__name")
    show_full_result_count = False


@admin.register(SampleResult)
class SampleResultAdmin(ReadOnlyAdmin):
    """One row for each sample of a match. The label that was found is kept back: it can tell the secret target."""

    organised_by = "match__rules__competition__organisers"
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
    list_filter = ("outcome", "reason", ("match__rules__competition", RelatedOnlyFieldListFilter))
    list_select_related = ("match", "piece__match")
    search_fields = ("=match__pk",)
    show_full_result_count = False
    fields = model_field_names(SampleResult, without=["found_label"])


@admin.register(WorkerTime)
class WorkerTimeAdmin(ReadOnlyAdmin):
    """How many seconds workers played for each team, by the hour: what a team's share of a day is counted from."""

    organised_by = "entry__competition__organisers"
    list_display = ("__str__", linked("entry"), "hour", "seconds")
    list_filter = (("entry__competition", RelatedOnlyFieldListFilter),)
    list_select_related = ("entry__team", "entry__competition")
    search_fields = ("entry__team__name",)
    date_hierarchy = "hour"
