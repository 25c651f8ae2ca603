"""Pools, evaluations and standings in the admin."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter

from core.administration.acts import Act, confirmed
from core.administration.columns import labelled, linked
from core.administration.rows import ReadOnlyAdmin
from leaderboards import services
from leaderboards.models import Evaluation, Pool, PoolPlace, Standing


@admin.register(Pool)
class PoolAdmin(ReadOnlyAdmin):
    """Frozen lists of opponents."""

    organised_by = "track__competition__organisers"
    counts = ("places", "evaluations")
    list_display = ("__str__", linked("track"), "number", "made_at", "reason")
    list_filter = (("track__competition", RelatedOnlyFieldListFilter), "track__kind")
    list_select_related = ("track__competition",)
    search_fields = ("reason",)
    date_hierarchy = "made_at"
    fields = ("track", "number", "made_at", "reason")


@admin.register(PoolPlace)
class PoolPlaceAdmin(ReadOnlyAdmin):
    """Who is in which pool."""

    organised_by = "pool__track__competition__organisers"
    list_display = ("__str__", linked("pool"), "place", linked("player"))
    list_filter = (("pool__track__competition", RelatedOnlyFieldListFilter), "pool__track__kind")
    list_select_related = ("pool__track__competition", "player")
    search_fields = ("player__title", "player__digest")


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnlyAdmin):
    """Submissions measured against pools."""

    organised_by = "sample_set__competition__organisers"
    counts = ("matches", "standings")
    list_display = (
        "__str__",
        labelled("state", {"playing": "warning", "scored": "success", "void": "danger"}),
        linked("submission"),
        linked("pool"),
        linked("sample_set"),
        linked("rules"),
        "value",
        "failures",
        "created_at",
        "finished_at",
        "reason",
    )
    list_filter = ("state", ("sample_set__competition", RelatedOnlyFieldListFilter), "pool__track__kind", "reason")
    list_select_related = (
        "submission",
        "pool__track__competition",
        "sample_set__competition",
        "rules__competition",
    )
    search_fields = ("=pk", "=submission__pk", "submission__repository__entry__team__slug")
    date_hierarchy = "created_at"
    actions = ("re_evaluate",)
    actions_detail = ("re_evaluate",)

    re_evaluate = confirmed(
        Act(
            "Re-evaluate",
            "The submission of each evaluation is measured once more, against the pool in force. "
            "Matches that failed are played again, all others are reused, and this evaluation is kept.",
            "begun again",
            lambda row, by, reason: services.re_evaluate(submission=row.submission, by=by, reason=reason),
        )
    )


@admin.register(Standing)
class StandingAdmin(ReadOnlyAdmin):
    """The rows of the leaderboards."""

    organised_by = "track__competition__organisers"
    list_display = ("rank", "previous_rank", linked("track"), linked("entry"), linked("evaluation"))
    list_display_links = ("rank",)
    list_filter = (("track__competition", RelatedOnlyFieldListFilter), "track__kind")
    list_select_related = ("track__competition", "entry__team", "entry__competition", "evaluation")
    search_fields = ("entry__team__slug", "entry__team__name")
