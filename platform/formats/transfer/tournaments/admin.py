"""Tournaments, entrants and runs in the admin."""

from __future__ import annotations

from django.contrib import admin

from competitions.admin import RulesVersionAdmin, SampleSetAdmin
from core.administration.admin_base_classes import ReadOnlyAdmin, model_field_names
from core.administration.link_columns import labelled, linked
from core.administration.list_filters import SeenRelatedFilter, one_of
from evaluation.formats.transfer.results import BatchReason
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Entrant, PairTotal, RepeatRun, Tournament
from formats.transfer.tournaments.run_work import runs
from submissions.admin import PlayerAdmin
from workers.work_item_admin import STATE_COLOURS, ItemAdmin, item_actions

RulesVersionAdmin.add_counts("tournaments")
SampleSetAdmin.add_counts("tournaments")
PlayerAdmin.add_counts("attack_runs", "defence_runs", "repeat_runs")

_PLAYING = ("worker", "fence", "faults", "host_faults", "fault_hosts", "fault", "played_at")
"""Columns on where and how often a run was played."""

_REASON = one_of("reason", ("", *BatchReason))


@admin.register(Tournament)
class TournamentAdmin(ReadOnlyAdmin):
    """Tournaments of leaderboards and rounds: every attack against every defence."""

    counts = ("entrants", "attack_runs")
    list_display = (
        "__str__",
        linked("competition"),
        linked("rules"),
        linked("sample_set"),
        "fixed",
        "suspended",
        "made_at",
        "ended_at",
    )
    list_filter = (("competition", SeenRelatedFilter), "fixed")
    list_select_related = ("competition", "rules__competition", "sample_set__competition")
    fields = model_field_names(Tournament, without=["seed"])


@admin.register(Entrant)
class EntrantAdmin(ReadOnlyAdmin):
    """Who counts in a tournament, since when, and with which standing."""

    list_display = (
        "__str__",
        linked("tournament"),
        linked("track"),
        linked("player"),
        linked("submission"),
        "entered_at",
        "left_at",
        "rank",
        "score",
        "raw",
        "worst",
        "coverage",
        "opponents",
    )
    list_filter = (("tournament__competition", SeenRelatedFilter), "track__name")
    list_select_related = ("tournament", "track__competition", "player", "submission")
    search_fields = ("player__title", "=submission__pk")


class RunAdmin(ItemAdmin):
    """Runs of any kind."""

    replay, retry_now, give_up = item_actions(
        runs,
        "run",
        replayed="Its submission counts on the leaderboard when all its runs are played. "
        "A round that it stopped continues. A paused round continues when it is resumed.",
        given_up="Its submission enters the leaderboard when it is replayed and played. "
        "Without a score so far, its slot is refunded.",
    )


@admin.register(AttackRun)
class AttackRunAdmin(RunAdmin):
    """Attacks on single batches."""

    counts = ("defence_runs",)
    list_display = (
        "__str__",
        labelled("state", STATE_COLOURS),
        linked("tournament"),
        linked("attack"),
        "batch",
        "epsilon",
        "made",
        "images",
        "reason",
        "seconds",
        linked("entry"),
        *_PLAYING,
    )
    list_filter = ("state", "priority", _REASON, ("tournament__competition", SeenRelatedFilter))
    list_select_related = ("tournament", "attack", "entry__team", "entry__competition")
    search_fields = ("=pk", "attack__title", "worker")


@admin.register(DefenceRun)
class DefenceRunAdmin(RunAdmin):
    """Defences on what one attack made of one batch. Labels are not shown: with the counts they reveal true ones."""

    list_display = (
        "__str__",
        labelled("state", STATE_COLOURS),
        linked("attack_run"),
        linked("defence"),
        "labelled",
        "correct",
        "hits",
        "reason",
        "seconds",
        linked("entry"),
        *_PLAYING,
    )
    list_filter = ("state", "priority", _REASON, ("attack_run__tournament__competition", SeenRelatedFilter))
    list_select_related = ("attack_run__attack", "defence", "entry__team", "entry__competition")
    search_fields = ("=pk", "defence__title", "worker")
    fields = model_field_names(DefenceRun, without=["labels"])


@admin.register(RepeatRun)
class RepeatRunAdmin(RunAdmin):
    """Images that defences labelled again. Labels are not shown, as in `DefenceRunAdmin`."""

    list_display = (
        "__str__",
        labelled("state", STATE_COLOURS),
        linked("tournament"),
        linked("defence"),
        "changed",
        "lost",
        "gained",
        "reason",
        "seconds",
        *_PLAYING,
    )
    list_filter = ("state", "priority", _REASON, ("tournament__competition", SeenRelatedFilter))
    list_select_related = ("tournament", "defence")
    search_fields = ("=pk", "defence__title", "worker")
    fields = model_field_names(RepeatRun, without=["labels"])


@admin.register(PairTotal)
class PairTotalAdmin(ReadOnlyAdmin):
    """Sums over the played runs of a defence on the images of one attack."""

    list_display = (
        "__str__",
        linked("tournament"),
        linked("attack"),
        linked("defence"),
        "played",
        "labelled",
        "correct",
        "hits",
    )
    list_filter = (("tournament__competition", SeenRelatedFilter),)
    list_select_related = ("tournament", "attack", "defence")
    search_fields = ("attack__title", "defence__title")
    show_full_result_count = False
    fields = model_field_names(PairTotal, without=["seconds", "resampled"])
