"""Workers, their hosts and their time in the admin."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter

from core.administration.columns import linked
from core.administration.permissions import ReadOnlyAdmin
from workers.models import Host, Worker, WorkerTime


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    """Worker processes that play, as last reported."""

    list_display = ("name", "worker_class", "device", "calibration", "clock_skew", "started_at", "last_seen_at")
    list_filter = ("worker_class",)
    search_fields = ("name", "device")


@admin.register(Host)
class HostAdmin(ReadOnlyAdmin):
    """Hosts that failed a check. A host that is out of service returns when a check succeeds."""

    list_display = ("name", "out_since", "check_due_at", "failed_checks", "problem")
    list_filter = (("out_since", admin.EmptyFieldListFilter),)
    search_fields = ("name", "problem")


@admin.register(WorkerTime)
class WorkerTimeAdmin(ReadOnlyAdmin):
    """Seconds that workers played and built for each team, by hour: the basis of a team's daily shares."""

    organised_by = "entry__competition__organisers"
    list_display = ("__str__", "role", linked("entry"), "hour", "seconds")
    list_filter = (
        "role",
        ("entry__competition", RelatedOnlyFieldListFilter),
    )
    list_select_related = ("entry__team", "entry__competition")
    search_fields = ("entry__team__name",)
    date_hierarchy = "hour"
