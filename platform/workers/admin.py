"""Workers, their hosts and their time in the admin."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter

from core.administration.actions import AdminAction, confirmed_action
from core.administration.columns import linked
from core.administration.permissions import ReadOnlyAdmin
from core.roles import Right
from workers import host_comparisons
from workers.models import Host, HostComparison, Worker, WorkerTime


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    """Worker processes that play, as last reported."""

    list_display = (
        "name",
        "worker_class",
        "device",
        "calibration",
        "device_calibration",
        "clock_skew",
        "started_at",
        "last_seen_at",
    )
    list_filter = ("worker_class",)
    search_fields = ("name", "device")


@admin.register(Host)
class HostAdmin(ReadOnlyAdmin):
    """Hosts that failed a check, or whose results differed. A host that failed a check returns when one succeeds."""

    list_display = ("name", "out_since", "check_due_at", "failed_checks", "problem", "doubtful_until")
    list_filter = (("out_since", admin.EmptyFieldListFilter),)
    search_fields = ("name", "problem")
    actions = ("return_to_service",)
    actions_detail = ("return_to_service",)

    return_to_service = confirmed_action(
        AdminAction(
            "Return to service",
            "Each drained host checks itself, and takes work again if the check passes. Its comparisons start from "
            "zero. What it played before stays listed for rejudging.",
            "returned to service",
            lambda row, by, reason: host_comparisons.return_to_service(row, by, reason),
        )
    )


@admin.register(HostComparison)
class HostComparisonAdmin(ReadOnlyAdmin):
    """Results that a second host repeated. A host that differs from the others beyond chance is drained."""

    list_display = ("subject", "at", "played_on", "repeated_on", "compared", "unequal", linked("entry"))
    list_select_related = ("entry__team", "entry__competition")
    search_fields = ("subject", "played_on", "repeated_on", "player")
    date_hierarchy = "at"
    show_full_result_count = False


@admin.register(WorkerTime)
class WorkerTimeAdmin(ReadOnlyAdmin):
    """Seconds that workers played and built for each team, by hour: the basis of a team's daily shares."""

    organised_by = "entry__competition__organiser_roles"
    viewing = Right.SEE
    list_display = ("__str__", "role", linked("entry"), "hour", "seconds")
    list_filter = (
        "role",
        ("entry__competition", RelatedOnlyFieldListFilter),
    )
    list_select_related = ("entry__team", "entry__competition")
    search_fields = ("entry__team__name",)
    date_hierarchy = "hour"
