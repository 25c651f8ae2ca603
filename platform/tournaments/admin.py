"""Admin of tournaments: their entrants, and the runs that can be replayed after platform errors."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter

from core.administration.actions import AdminAction, confirmed_action
from core.administration.columns import labelled, linked
from core.administration.permissions import ReadOnlyAdmin
from tournaments import queue
from tournaments.models import AttackRun, DefenceRun, Entrant, Tournament

STATE_COLOURS = {"waiting": "info", "claimed": "warning", "played": "success", "failed": "danger"}

REPLAY = AdminAction(
    "Replay",
    "Plays each failed run again. A round that it stopped continues. A paused round continues when it is resumed.",
    "queued for a replay",
    lambda row, by, reason: queue.replay_failed(row, by, reason),
)


@admin.register(Tournament)
class TournamentAdmin(ReadOnlyAdmin):
    """Tournaments of leaderboards and rounds."""

    organised_by = "competition__organisers"
    list_display = ("__str__", linked("competition"), linked("sample_set"), "fixed", "suspended", "made_at", "ended_at")
    list_filter = (("competition", RelatedOnlyFieldListFilter), "fixed")
    list_select_related = ("competition", "sample_set__competition", "rules__competition")


@admin.register(Entrant)
class EntrantAdmin(ReadOnlyAdmin):
    """Entrants of tournaments, with their standings."""

    organised_by = "tournament__competition__organisers"
    list_display = ("__str__", linked("track"), "rank", "score", "worst", "coverage", "entered_at", "left_at")
    list_filter = (("tournament__competition", RelatedOnlyFieldListFilter), "track__name")
    list_select_related = ("tournament", "track__competition", "player", "submission")
    search_fields = ("player__title", "player__digest")


@admin.register(AttackRun)
class AttackRunAdmin(ReadOnlyAdmin):
    """Runs of attacks on batches."""

    organised_by = "tournament__competition__organisers"
    list_display = ("__str__", linked("attack"), labelled("state", STATE_COLOURS), "made", "reason", "faults", "fault")
    list_filter = (("tournament__competition", RelatedOnlyFieldListFilter), "state", "priority", "reason")
    list_select_related = ("tournament", "attack", "entry__team")
    search_fields = ("=pk", "attack__title", "attack__digest")
    show_full_result_count = False
    actions = ("replay",)
    actions_detail = actions

    replay = confirmed_action(REPLAY)


@admin.register(DefenceRun)
class DefenceRunAdmin(ReadOnlyAdmin):
    """Runs of defences on what attacks made of batches."""

    organised_by = "attack_run__tournament__competition__organisers"
    list_display = (
        *("__str__", linked("defence"), labelled("state", STATE_COLOURS), "labelled", "correct", "reason"),
        *("faults", "fault"),
    )
    list_filter = (("attack_run__tournament__competition", RelatedOnlyFieldListFilter), "state", "priority", "reason")
    list_select_related = ("attack_run__attack", "defence", "entry__team")
    search_fields = ("=pk", "defence__title", "defence__digest", "attack_run__attack__title")
    show_full_result_count = False
    actions = ("replay",)
    actions_detail = actions

    replay = confirmed_action(REPLAY)
