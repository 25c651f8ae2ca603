"""Repositories in the admin."""

from __future__ import annotations

from django.contrib import admin

from competitions.admin import EntryAdmin, TrackAdmin
from core.administration.admin_base_classes import ReadOnlyAdmin
from core.administration.link_columns import linked
from core.administration.list_filters import SeenRelatedFilter
from core.roles import Right
from repositories.models import PushCost, Repository

TrackAdmin.add_counts("repositories")
EntryAdmin.add_counts("repositories")


@admin.register(Repository)
class RepositoryAdmin(ReadOnlyAdmin):
    """The teams' repositories, as rows: their content is read through git."""

    viewing = Right.SEE
    list_display = ("__str__", linked("entry"), linked("track"), "created_at", "pushed_at", "size_bytes")
    list_filter = (("track__competition", SeenRelatedFilter), "track__name")
    list_select_related = ("entry__team", "entry__competition", "track__competition")
    search_fields = ("entry__team__slug", "entry__team__name")
    date_hierarchy = "created_at"


@admin.register(PushCost)
class PushCostAdmin(ReadOnlyAdmin):
    """What the pushes of the last hour cost the web hosts."""

    viewing = Right.SEE
    list_display = ("__str__", linked("team"), "begun_at", "ended_at", "seconds", "platform_error")
    list_filter = ("platform_error",)
    list_select_related = ("team",)
    search_fields = ("team__slug", "team__name")
    date_hierarchy = "begun_at"
