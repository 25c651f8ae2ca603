"""Admin of rounds: planning, running, publishing and releasing."""

from __future__ import annotations

import logging
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from competitions.permissions import may_in
from core import platform_error_report
from core.administration.admin_base_classes import AddableAdmin, ReadOnlyAdmin, model_field_names
from core.administration.confirmed_actions import confirmed_action
from core.administration.link_columns import labelled, linked
from core.administration.list_filters import SeenRelatedFilter
from core.errors import Fault, Refusal
from rounds import admin_actions
from rounds.formats import format_of, schedule_title
from rounds.forms import PlanForm
from rounds.models import Objection, Release, Round, RoundEntry, SigningKey
from rounds.objections.selectors import objection_title
from rounds.planning.plan import plan_round
from rounds.running.dashboard_data import dashboard
from rounds.running.transitions import acts_in

log = logging.getLogger(__name__)

STATE_COLOURS = {
    "planned": "info",
    "frozen": "info",
    "playing": "warning",
    "paused": "warning",
    "scored": "primary",
    "published": "success",
    "cancelled": "danger",
}


class RoundFilter(RelatedOnlyFieldListFilter):
    """Filter by the rounds of the listed rows, in one query."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> list[tuple[Any, Any]]:
        named = model_admin.get_queryset(request).order_by().values(f"{self.field_path}__pk")
        return [(row.pk, str(row)) for row in Round.objects.filter(pk__in=named).select_related("competition")]


OF_ROUND = ("round", RoundFilter)
IN_A_COMPETITION = ("round__competition", SeenRelatedFilter)


@admin.register(Round)
class RoundAdmin(AddableAdmin):
    """Rounds, newest first."""

    compressed = True
    counts = ("entries", "objections", "releases")
    list_display = (
        "title",
        labelled("state", STATE_COLOURS),
        "state_since",
        linked("competition"),
        "kind",
        "shown_schedule",
        "problem",
    )
    list_filter = ("state", ("competition", SeenRelatedFilter), "kind", "schedule")
    list_select_related = ("competition", "window__competition", "sample_set__competition", "rules__competition")
    search_fields = ("title", "outcome", "commitment", "competition__slug")
    date_hierarchy = "planned_at"
    fields = (
        *("competition", "number", "title", "kind", "shown_schedule"),
        *model_field_names(
            Round, without=["competition", "number", "title", "kind", "schedule", "window", "salt", "field_salt"]
        ),
    )
    readonly_fields = ("shown_schedule",)
    actions = ("freeze", "start", "pause", "resume", "publish", "release", "withdraw", "cancel")
    actions_detail = actions
    change_form_outer_before_template = "admin/rounds/dashboard.html"

    freeze = confirmed_action(admin_actions.FREEZE)
    start = confirmed_action(admin_actions.START)
    pause = confirmed_action(admin_actions.PAUSE)
    resume = confirmed_action(admin_actions.RESUME)
    cancel = confirmed_action(admin_actions.CANCEL)
    publish = confirmed_action(admin_actions.PUBLISH)
    release = confirmed_action(admin_actions.RELEASE)
    withdraw = confirmed_action(admin_actions.WITHDRAW)

    @admin.display(description="schedule", ordering="schedule")
    def shown_schedule(self, round_: Round) -> str:
        """Return the title that the round's format gives to its schedule."""
        return schedule_title(round_)

    def get_fields(self, request: HttpRequest, obj: Round | None = None) -> list[Any]:
        """Leave out the guard where the format of the round has none."""
        fields = super().get_fields(request, obj)
        guarded = obj is not None and "guard" in format_of(obj).plan_fields()
        return [name for name in fields if guarded or name != "guard"]

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Return the actions that the state of the round allows."""
        shown = self.get_object(request, object_id)
        names = acts_in(Round.State(shown.state)) if shown else []
        allowed = {f"rounds_round_{name}" for name in names}
        every = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        return [each for each in every if each.action_name in allowed]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the organiser's dashboard, which refreshes itself while the round plays."""
        shown = self.get_object(request, object_id)
        extra: dict[str, Any] = {}
        if shown:
            page = dashboard(shown)
            offered = {each.action_name: each for each in self.get_actions_detail(request, object_id)}
            extra = {"dashboard": page, "next_action": offered.get(f"rounds_round_{page.next_act}")}
        response: HttpResponse = super().change_view(request, object_id, form_url, (extra_context or {}) | extra)
        if shown and shown.state == Round.State.PLAYING:
            response.headers["Refresh"] = "15"
        return response

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Plan a round."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        competitions = may_in(request.user, self.changing)
        first = competitions.first()
        form = PlanForm(request.POST or None, competitions=competitions, initial={"competition": first})
        if form.is_valid():
            try:
                values: dict[str, Any] = {"schedule": "", "guard": False, **form.cleaned_data, "by": request.user}
                planned = plan_round(**values)
            except Refusal as refusal:
                form.add_error(None, f"{refusal.problem}: {refusal.fix}" if refusal.fix else refusal.problem)
            except Fault as fault:
                platform_error_report.report(log, fault, "a round could not be planned")
                form.add_error(None, f"platform error: {fault}")
            else:
                messages.success(request, f"{planned} is planned. The commitment to its samples is public.")
                return redirect("admin:rounds_round_change", planned.pk)
        context = {"title": "Plan a round", "opts": self.opts, "form": form, "media": self.media + form.media}
        return TemplateResponse(request, "admin/rounds/plan.html", self.admin_site.each_context(request) | context)


@admin.register(RoundEntry)
class RoundEntryAdmin(ReadOnlyAdmin):
    """Submissions as frozen for a round, with their places."""

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
    list_filter = (IN_A_COMPETITION, OF_ROUND, "track__name", "eligible", "inconsistent", "stage")
    list_select_related = ("round__competition", "track__competition", "submission", "player", "worst_opponent")
    search_fields = (
        "player__title",
        "player__digest",
        "submission__repository__entry__team__slug",
        "submission__repository__entry__team__name",
    )
    actions = ("confirm_licence", "refuse_licence")
    actions_detail = actions

    confirm_licence = confirmed_action(admin_actions.CONFIRM_LICENCE)
    refuse_licence = confirmed_action(admin_actions.REFUSE_LICENCE)


@admin.register(Objection)
class ObjectionAdmin(ReadOnlyAdmin):
    """Objections of teams to results of rounds, the open ones first. Each gets one answer, which is public."""

    list_display = (
        "__str__",
        labelled("state", {"open": "warning", "upheld": "success", "rejected": "danger", "withdrawn": "info"}),
        linked("round"),
        linked("team"),
        linked("entry"),
        "match",
        "made_at",
        "closed_at",
        "closed_by",
    )
    list_filter = ("state", IN_A_COMPETITION, OF_ROUND)
    list_select_related = ("round__competition", "team", "entry__submission", "closed_by")
    search_fields = ("text", "answer", "team__slug", "team__name")
    date_hierarchy = "made_at"
    fields = ("round", "team", "concerns", *model_field_names(Objection, without=["round", "team"]))
    actions = ("uphold", "reject")
    actions_detail = actions

    uphold = confirmed_action(admin_actions.UPHOLD)
    reject = confirmed_action(admin_actions.REJECT)

    @admin.display(description="to")
    def concerns(self, row: Objection) -> str:
        """Return what the objection concerns, in words."""
        return objection_title(row)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Return the actions on an open objection, none on others."""
        shown = self.get_object(request, object_id)
        is_open = shown is not None and shown.state == Objection.State.OPEN
        return super().get_actions_detail(request, object_id) if is_open else []  # type: ignore[misc]


@admin.register(SigningKey)
class SigningKeyAdmin(ReadOnlyAdmin):
    """Public keys that sign or signed result bundles, with their successors."""

    list_display = ("__str__", "made_at", "public", linked("successor"))
    search_fields = ("public",)


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin):
    """Released parts of rounds: who released them, and when they were withdrawn."""

    list_display = ("__str__", linked("round"), "part", "released_at", "released_by", "withdrawn_at", "content")
    list_filter = (IN_A_COMPETITION, OF_ROUND, "part", ("withdrawn_at", admin.EmptyFieldListFilter))
    list_select_related = ("round__competition", "released_by")
    search_fields = ("content", "round__title")
