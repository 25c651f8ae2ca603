"""Admin pages of competitions and their settings. An import creates competitions and tracks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin import EmptyFieldListFilter
from django.core.exceptions import PermissionDenied
from django.db.models import CharField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Concat
from django.forms import ModelForm
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe
from unfold.decorators import action

import competitions.event_admin
import competitions.role_admin
import competitions.uploaded_data_set_admin  # noqa: F401 - registers its page
from accounts.admin import PersonAdmin
from accounts.selectors import signed_in_user
from competitions import delete_or_archive_actions
from competitions.clone_page import clone_page
from competitions.extension_points import owns_window, sets_in_use
from competitions.file_upload_page import upload_page
from competitions.forms import ChangeWindowForm, ExtendForm, SampleSetForm, TrackForm, WindowForm
from competitions.freeze_windows import (
    call_off_window,
    change_window,
    end_window,
    extend_window,
    open_window,
    plan_window,
)
from competitions.models import Competition, CompetitionOrigin, Entry, FreezeWindow, RulesVersion, SampleSet, Track
from competitions.organiser_page_admin import OF_COMPETITION
from competitions.origin import origin_of
from competitions.permissions import may_in
from competitions.rules_change_page import change_rules_page
from competitions.rules_changes import changes_of
from competitions.season_costs_page import season_costs_page
from competitions.services import export_competition
from competitions.toml_text import written
from core import clock
from core.administration.admin_base_classes import (
    AddableAdmin,
    EditableAdmin,
    ReadOnlyAdmin,
    RecordedAdmin,
    is_superuser,
)
from core.administration.confirmed_actions import AdminAction, confirmed_action
from core.administration.link_columns import linked
from core.errors import Refusal
from core.models import Event
from core.roles import Right

if TYPE_CHECKING:
    from accounts.models import User

PersonAdmin.add_counts("organiser_roles")


@admin.register(Competition)
class CompetitionAdmin(EditableAdmin):
    """Competitions. The slug is part of addresses and never changes.

    Only superusers import one from a file: it names folders of the host. Organisers export theirs.
    """

    viewing = Right.SEE
    counts = (
        *("tracks", "rules_versions", "sample_sets", "freeze_windows", "organiser_roles", "entries"),
        *("pages", "terms_versions", "announcements"),
    )
    list_display = ("title", "slug", "starts_at", "ends_at", "public", "licence_policy")
    list_filter = ("public", ("archived_at", EmptyFieldListFilter), "licence_policy")
    search_fields = ("slug", "title", "summary")
    date_hierarchy = "starts_at"
    change_form_outer_before_template = "admin/competitions/hidden.html"
    fixed = ("slug", "smoke_opponent", "created_at", "archived_at")
    actions_detail: ClassVar[Sequence[str | Mapping[str, Any]]] = (
        "change_rules",
        "season_costs",
        {"title": "More", "items": ("clone", "export", "end", "unarchive")},
    )

    end = confirmed_action(delete_or_archive_actions.END)
    unarchive = confirmed_action(delete_or_archive_actions.UNARCHIVE)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Return the actions that a competition offers, in the archive or outside."""
        shown = self.get_object(request, object_id)
        hidden = {"end"} if shown is not None and shown.archived_at is not None else {"unarchive"}
        if shown is not None and origin_of(shown) is not None:
            hidden.add("unarchive")
        every = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        return [each for each in every if each.action_name.removeprefix("competitions_competition_") not in hidden]

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Import a competition from an uploaded file."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        return upload_page(request, signed_in_user(request), self._page_context(request))

    def _competition(self, request: HttpRequest, object_id: str) -> Competition:
        row: Competition | None = self.get_object(request, object_id)
        if row is None:
            raise Http404
        return row

    def _page_context(self, request: HttpRequest) -> dict[str, Any]:
        return self.admin_site.each_context(request) | {"opts": self.opts}

    @action(description="Change the rules", permissions=["run"])  # type: ignore[untyped-decorator]
    def change_rules(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Change the rules of the competition by a form with a preview."""
        row = self._competition(request, object_id)
        return change_rules_page(request, signed_in_user(request), row, self._page_context(request))

    @action(description="Costs of the season", permissions=["run"])  # type: ignore[untyped-decorator]
    def season_costs(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show what the expected teams and submissions will cost. Nothing is stored."""
        return season_costs_page(request, self._competition(request, object_id), self._page_context(request))

    @action(description="Clone", permissions=["add"])  # type: ignore[untyped-decorator]
    def clone(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Copy the competition under another slug, by an import of its file."""
        return clone_page(request, self._competition(request, object_id), self._page_context(request))

    @action(description="Export as TOML", permissions=["run"])  # type: ignore[untyped-decorator]
    def export(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Return the file of the competition."""
        row = self._competition(request, object_id)
        headers = {"Content-Disposition": f'attachment; filename="{row.slug}.toml"'}
        return HttpResponse(written(export_competition(row)), content_type="application/toml", headers=headers)


@admin.register(Track)
class TrackAdmin(EditableAdmin):
    """Tracks of competitions."""

    form = TrackForm
    viewing = Right.SEE
    list_display = ("__str__", linked("competition"), "name", "title", "quota", "baselines")
    list_filter = (OF_COMPETITION, "name")
    list_select_related = ("competition",)
    search_fields = ("title", "competition__slug")
    fixed = ("competition", "name")


@admin.register(RulesVersion)
class RulesVersionAdmin(AddableAdmin):
    """Versions of the rules. Versions are added and never changed, since scores refer to them.

    They are added on the page of their competition (`competitions.rules_change_page`), or by an import.
    """

    viewing = Right.SEE
    list_display = ("__str__", "created_at", "made_by", "note", "differences")
    list_filter = (OF_COMPETITION,)
    list_select_related = ("competition",)
    search_fields = ("note", "competition__slug")
    readonly_fields = ("version", "created_at", "made_by", "differences")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the versions with their events' authors, and the values of the versions before them."""
        before = RulesVersion.objects.filter(competition=OuterRef("competition"), version__lt=OuterRef("version"))
        made = Event.objects.filter(
            subject=Concat(Value("rulesversion:"), Cast(OuterRef("pk"), CharField())),
            verb__in=("set_rules", "rulesversion.added"),
        )
        rows: QuerySet[Any] = super().get_queryset(request)
        annotated: QuerySet[Any] = rows.annotate(
            maker=Subquery(made.values("by__username")[:1]),
            values_before=Subquery(before.order_by("-version").values("values")[:1]),
        )
        return annotated

    @admin.display(description="by", empty_value="")
    def made_by(self, row: Any) -> str | None:
        """Return the name of the user who made the version, None for the site and versions without an event."""
        name: str | None = row.maker
        return name

    @admin.display(description="changes since the version before")
    def differences(self, row: Any) -> str:
        """Return what changed, a line for each rule."""
        if row.values_before is None:
            return ""
        before = RulesVersion(competition=row.competition, version=row.version - 1, values=row.values_before)
        lines = [(each.label, each.before, each.after) for each in changes_of(before, row.values)]
        return format_html_join(mark_safe("<br>"), "{}: {} \N{RIGHTWARDS ARROW} {}", lines)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Lead to the page on which the rules of the only competition change, or to the list of competitions."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        competitions = list(may_in(request.user, self.changing)[:2])
        if len(competitions) == 1:
            return redirect("admin:competitions_competition_change_rules", competitions[0].pk)
        messages.info(request, "Choose a competition, then “Change the rules”.")
        return redirect("admin:competitions_competition_changelist")


@admin.register(SampleSet)
class SampleSetAdmin(RecordedAdmin, ReadOnlyAdmin):
    """Sample sets, without images and labels. They are imported with the competition.

    Name and purpose can change until a match, an evaluation or a round uses the set. Sets drawn by the site are
    read-only.
    """

    form = SampleSetForm
    list_display = (
        "__str__",
        linked("competition"),
        "purpose",
        "source",
        "split",
        "count",
        linked("drawn_from"),
        linked("replaces"),
        "imported_at",
    )
    list_filter = (OF_COMPETITION, "purpose", ("drawn_from", EmptyFieldListFilter))
    list_select_related = ("competition", "drawn_from__competition", "replaces__competition")
    search_fields = ("name", "source", "digest")
    readonly_fields = (
        "competition",
        "drawn_from",
        "replaces",
        "source",
        "split",
        "order",
        "skip",
        "count",
        "target_seed",
        "imported_at",
        "digest",
        "class_names",
    )

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if obj is None or not self.may(self.changing, request, obj):
            return self.may(self.changing, request, obj)
        known: dict[Any, bool] = vars(request).setdefault("_used_sets", {})  # each part of the form asks
        if obj.pk not in known:
            known[obj.pk] = _is_used(obj)
        return not known[obj.pk]

    def save_model(self, request: HttpRequest, obj: Any, form: ModelForm[Any], change: bool) -> None:
        # the lock makes a concurrent first use wait, or visible here
        if _is_used(SampleSet.objects.select_for_update().get(pk=obj.pk)):
            raise PermissionDenied
        super().save_model(request, obj, form, change)


def _is_used(row: SampleSet) -> bool:
    if row.drawn_from_id is not None or row.replaces_id is not None:
        return True
    used = Q(draws__isnull=False)
    for sets in sets_in_use.answers():
        used |= Q(pk__in=sets.filter(pk=row.pk)[:1])  # ends with the first of its matches
    return SampleSet.objects.filter(used, pk=row.pk).exists()


def _call_off(window: FreezeWindow, by: User, reason: str) -> None:
    if _belongs_to_round(window):
        raise Refusal("this window belongs to a round", fix="cancel the round; this also calls off its window")
    call_off_window(window=window, by=by, reason=reason)


@admin.register(FreezeWindow)
class FreezeWindowAdmin(AddableAdmin, EditableAdmin):
    """Freeze windows. One that has begun or belongs to a round is changed only by actions.

    Windows are never deleted. A window can be called off, and the event log keeps the reason.
    """

    form = WindowForm
    viewing = Right.SEE
    list_display = ("reason", linked("competition"), "starts_at", "ends_at", "called_off_at")
    list_filter = (OF_COMPETITION,)
    list_select_related = ("competition",)
    search_fields = ("reason", "competition__slug")
    date_hierarchy = "starts_at"
    fixed = ("competition", "called_off_at")
    actions = ("open_now", "extend", "end_now", "call_off")
    actions_detail = actions

    open_now = confirmed_action(
        AdminAction(
            title="Open now",
            effect="The window begins now and keeps its length. No submission is accepted until it ends.",
            done="opened",
            call=lambda row, by, reason: open_window(window=row, by=by, reason=reason),
        )
    )
    extend = confirmed_action(
        AdminAction(
            title="Extend",
            effect="The window ends later. Rejected submissions show the new end.",
            done="extended",
            call=lambda row, by, reason, ends_at: extend_window(window=row, ends_at=ends_at, by=by, reason=reason),
            form=ExtendForm,
        )
    )
    end_now = confirmed_action(
        AdminAction(
            title="End now",
            effect="The window ends now. Submissions are accepted again.",
            done="ended",
            call=lambda row, by, reason: end_window(window=row, by=by, reason=reason),
        )
    )

    call_off = confirmed_action(
        AdminAction(
            title="Call off",
            effect="The window does not take place. If it has begun, it ends now. This cannot be undone.",
            done="called off",
            call=_call_off,
        )
    )

    def get_form(
        self, request: HttpRequest, obj: FreezeWindow | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelForm[FreezeWindow]]:
        """Return the form, with a reason for a change to an existing window."""
        if obj is not None and self.has_change_permission(request, obj):
            kwargs["form"] = ChangeWindowForm
        return super().get_form(request, obj, change, **kwargs)

    def save_model(self, request: HttpRequest, obj: FreezeWindow, form: ModelForm[Any], change: bool) -> None:
        """Plan the window, or change a planned one. The form has checked the values."""
        by = signed_in_user(request)
        times = {"starts_at": obj.starts_at, "ends_at": obj.ends_at}
        if change:
            change_window(window=obj, **times, shown_reason=obj.reason, by=by, reason=form.cleaned_data["why"])
        else:
            obj.pk = plan_window(competition=obj.competition, **times, reason=obj.reason, by=by).pk

    def has_change_permission(self, request: HttpRequest, obj: FreezeWindow | None = None) -> bool:
        return self.may(self.changing, request, obj) and (
            obj is None or (obj.called_off_at is None and obj.starts_at > clock.now() and not _belongs_to_round(obj))
        )


def _belongs_to_round(window: FreezeWindow) -> bool:
    return any(owns_window.answers(window))


@admin.register(CompetitionOrigin)
class CompetitionOriginAdmin(ReadOnlyAdmin):
    """The sites on which imported competitions were played."""

    viewing = Right.SEE
    list_display = (linked("competition"), "address", "slug", "version", "exported_at", "imported_at")
    list_select_related = ("competition",)
    search_fields = ("slug", "address", "competition__slug")


@admin.register(Entry)
class EntryAdmin(EditableAdmin):
    """Teams that take part. Only prize eligibility and low priority can be changed here."""

    viewing = Right.SEE
    list_display = (
        "__str__",
        linked("team"),
        linked("competition"),
        "ineligible_for_prizes",
        "low_priority",
        "joined_at",
    )
    list_filter = (OF_COMPETITION, "ineligible_for_prizes", "low_priority")
    list_select_related = ("team", "competition")
    search_fields = ("team__slug", "team__name")
    date_hierarchy = "joined_at"
    fixed = ("team", "competition", "joined_at")
