"""Workers, their hosts and their time in the admin."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.selectors import signed_in_user
from core.administration.admin_base_classes import ReadOnlyAdmin, is_superuser
from core.administration.confirmed_actions import AdminAction, confirmed_action
from core.administration.link_columns import linked
from core.administration.list_filters import SeenRelatedFilter
from core.roles import Right
from workers import host_comparisons, host_credentials
from workers.models import Host, HostComparison, HostCredential, Worker, WorkerTime


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
        "stopped_at",
    )
    list_filter = ("worker_class", ("stopped_at", admin.EmptyFieldListFilter))
    search_fields = ("name", "device")
    actions = ("drain",)
    actions_detail = ("drain",)

    drain = confirmed_action(
        AdminAction(
            "Drain its host",
            "Its workers finish what they hold and take nothing more, until you return the host to service (Hosts).",
            "drained",
            lambda row, by, reason: host_comparisons.drain(row, by, reason),
        )
    )


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


@admin.register(HostCredential)
class HostCredentialAdmin(ReadOnlyAdmin):
    """Worker hosts with a folder of their own. Each joins with the command on its page, once, and within an hour."""

    list_display = ("host", "made_by", "made_at", "expires_at", "joined_at", "last_used_at", "revoked_at")
    list_filter = (("joined_at", admin.EmptyFieldListFilter), ("revoked_at", admin.EmptyFieldListFilter))
    list_select_related = ("made_by",)
    search_fields = ("host",)
    date_hierarchy = "made_at"
    actions = ("revoke",)
    actions_detail = actions

    revoke = confirmed_action(
        AdminAction(
            "Revoke",
            "The host can no longer read commits, so it builds and plays nothing. It still has the passwords of "
            "database, broker and object store: change them if you do not trust it.",
            "revoked",
            lambda row, by, reason: host_credentials.revoke(credential=row, by=by, reason=reason),
        )
    )

    @admin.display(description="command for the host")
    def command(self, row: HostCredential) -> str:
        """Return the command with which the host joins."""
        return str(vars(row).get("command", ""))

    def get_fields(self, request: HttpRequest, obj: HostCredential | None = None) -> tuple[str, ...]:
        """Return only the name for a new host, and every field for an existing one."""
        return ("command", *self.list_display) if obj else ("host",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        """Return every field of an existing host."""
        return ("command", *self.list_display) if obj else ()

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> HostCredential | None:
        """Return the row with its command, for the address of the request."""
        row: HostCredential | None = super().get_object(request, object_id, from_field)
        if row is not None:
            key, site = host_credentials.join_key(row), request.build_absolute_uri("/").rstrip("/")
            vars(row)["command"] = (
                f".venv/bin/python manage.py join {site} {key}" if key else "The key no longer works."
            )
        return row

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    def save_model(self, request: HttpRequest, obj: HostCredential, form: ModelForm[Any], change: bool) -> None:
        """Let a host join. Credentials are never changed."""
        if change:
            raise PermissionDenied
        obj.pk = host_credentials.make_credential(host=obj.host, by=signed_in_user(request)).pk

    def response_add(
        self, request: HttpRequest, obj: HostCredential, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Redirect to the page of the host, which shows its command."""
        return HttpResponseRedirect(reverse("admin:workers_hostcredential_change", args=[obj.pk]))


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

    viewing = Right.SEE
    list_display = ("__str__", "role", linked("entry"), "hour", "seconds")
    list_filter = (
        "role",
        ("entry__competition", SeenRelatedFilter),
    )
    list_select_related = ("entry__team", "entry__competition")
    ordering = ("-pk",)  # as the hours passed
    search_fields = ("entry__team__name",)
    date_hierarchy = "hour"
