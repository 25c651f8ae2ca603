"""Rounds in the admin: planned, conducted, applied and released here."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter

from core.administration.columns import labelled, linked
from core.administration.rows import ReadOnlyAdmin, model_field_names
from rounds.models import Decision, Release, Round, RoundEntry, RoundMatch, RoundStage, RoundWarning

STATE_COLOURS = {
    "planned": "info",
    "frozen": "info",
    "playing": "warning",
    "paused": "warning",
    "scored": "primary",
    "published": "success",
    "cancelled": "danger",
}
OF_ROUND = ("round", RelatedOnlyFieldListFilter)
IN_A_COMPETITION = ("round__competition", RelatedOnlyFieldListFilter)


@admin.register(Round)
class RoundAdmin(ReadOnlyAdmin):
    """Rounds, newest first."""

    organised_by = "competition__organisers"
    counts = ("entries", "stages", "round_matches", "warnings", "releases")
    list_display = (
        "title",
        "number",
        labelled("state", STATE_COLOURS),
        "state_since",
        linked("competition"),
        "kind",
        "schedule",
        linked("window"),
        linked("sample_set"),
        "problem",
    )
    list_filter = ("state", ("competition", RelatedOnlyFieldListFilter), "kind", "schedule")
    list_select_related = ("competition", "window__competition", "sample_set__competition", "rules__competition")
    search_fields = ("title", "outcome", "commitment", "competition__slug")
    date_hierarchy = "planned_at"
    fields = model_field_names(Round, without=["salt"])


@admin.register(RoundEntry)
class RoundEntryAdmin(ReadOnlyAdmin):
    """Submissions as they were frozen, and the places they got."""

    organised_by = "round__competition__organisers"
    list_display = (
        "__str__",
        linked("round"),
        linked("track"),
        "place",
        linked("submission"),
        linked("player"),
        "eligible",
        "ineligible_because",
        "value",
        "stage",
    )
    list_filter = (IN_A_COMPETITION, OF_ROUND, "track__kind", "eligible", "stage")
    list_select_related = ("round__competition", "track__competition", "submission", "player", "worst_opponent")
    search_fields = (
        "player__title",
        "player__digest",
        "submission__repository__entry__team__slug",
        "submission__repository__entry__team__name",
    )


@admin.register(RoundMatch)
class RoundMatchAdmin(ReadOnlyAdmin):
    """Which match belongs to which round."""

    organised_by = "round__competition__organisers"
    list_display = ("__str__", linked("round"), linked("match"))
    list_filter = (IN_A_COMPETITION, OF_ROUND, "match__state")
    list_select_related = ("round__competition", "match")
    search_fields = ("=match__pk", "match__model__title", "match__attack__title")
    show_full_result_count = False


@admin.register(RoundStage)
class RoundStageAdmin(ReadOnlyAdmin):
    """Finished stages: on how many samples, before which panels, and who counted."""

    organised_by = "round__competition__organisers"
    counts = ("decisions",)
    list_display = ("__str__", linked("round"), "bracket", "number", "samples", "ordered_by", "loop", "renewed")
    list_filter = (IN_A_COMPETITION, OF_ROUND, "bracket", "number", "renewed")
    list_select_related = ("round__competition",)
    search_fields = ("round__title",)


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin):
    """The decision log: each line tells who was kept or cut in which stage, by which number against which line."""

    organised_by = "stage__round__competition__organisers"
    list_display = ("__str__", linked("stage"), linked("track"), linked("player"), "value", "cut_line", "spared")
    list_filter = (
        ("stage__round__competition", RelatedOnlyFieldListFilter),
        ("stage__round", RelatedOnlyFieldListFilter),
        "stage__bracket",
        "stage__number",
        "track__kind",
        "kept",
        "spared",
    )
    list_select_related = ("stage__round", "track__competition", "player")
    search_fields = (
        "player__title",
        "player__digest",
        "player__round_entries__submission__repository__entry__team__slug",
        "player__round_entries__submission__repository__entry__team__name",
    )


@admin.register(RoundWarning)
class RoundWarningAdmin(ReadOnlyAdmin):
    """Eliminated attacks that would have broken a winning model."""

    organised_by = "round__competition__organisers"
    list_display = ("__str__", linked("round"), linked("model"), linked("attack"), "nearer", "samples")
    list_filter = (IN_A_COMPETITION, OF_ROUND)
    list_select_related = ("round__competition", "model", "attack")
    search_fields = ("model__title", "attack__title", "model__digest", "attack__digest")


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin):
    """What was made public of which round, by whom, and when it was withdrawn."""

    organised_by = "round__competition__organisers"
    list_display = ("__str__", linked("round"), "part", "released_at", "released_by", "withdrawn_at", "content")
    list_filter = (IN_A_COMPETITION, OF_ROUND, "part", ("withdrawn_at", admin.EmptyFieldListFilter))
    list_select_related = ("round__competition", "released_by")
    search_fields = ("content", "round__title")
