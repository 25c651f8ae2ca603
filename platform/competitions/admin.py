"""Competitions and what organisers set in them, in the admin. Competitions and their tracks are made by an import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Max
from django.forms import ModelForm
from django.http import HttpRequest

from competitions.document import NEEDED
from competitions.models import Competition, Entry, FreezeWindow, Organiser, RulesVersion, SampleSet, Track
from competitions.rules import least_accuracy, query_rules
from competitions.services import appoint_organiser, require_fitting_rules
from core import clock
from core.administration.columns import linked
from core.administration.rows import EditableAdmin, ReadOnlyAdmin, RecordedAdmin, is_superuser
from core.errors import Refusal

if TYPE_CHECKING:
    RulesModelForm = ModelForm[RulesVersion]
    SampleSetModelForm = ModelForm[SampleSet]
else:
    RulesModelForm = SampleSetModelForm = ModelForm

OF_COMPETITION = ("competition", RelatedOnlyFieldListFilter)


@admin.register(Competition)
class CompetitionAdmin(EditableAdmin):
    """Competitions. Their slug is in addresses and never changes."""

    organised_by = "organisers"
    counts = ("tracks", "rules_versions", "sample_sets", "freeze_windows", "organiser_roles", "entries", "players")
    list_display = ("title", "slug", "starts_at", "ends_at", "public", "licence_policy")
    list_filter = ("public", "licence_policy")
    search_fields = ("slug", "title", "summary")
    date_hierarchy = "starts_at"
    fixed = ("slug", "created_at")


@admin.register(Track)
class TrackAdmin(EditableAdmin):
    """Tracks of competitions."""

    organised_by = "competition__organisers"
    counts = ("repositories", "pools", "standings")
    list_display = ("__str__", linked("competition"), "kind", "title", "quota", "baselines")
    list_filter = (OF_COMPETITION, "kind")
    list_select_related = ("competition",)
    search_fields = ("title", "competition__slug")
    fixed = ("competition", "kind")


class RulesForm(RulesModelForm):
    """A further version of the rules, checked as the engine will read it."""

    def clean_values(self) -> dict[str, Any]:
        values = self.cleaned_data["values"]
        if not isinstance(values, dict):
            raise ValidationError('Give a table of values, e.g. {"query_budget": 1000}.')
        try:
            query_rules(values, 1)
            least_accuracy(values)
        except Refusal as refusal:
            raise ValidationError(f"{refusal.problem}: {refusal.fix}") from refusal
        return values

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        competition, values = self.cleaned_data.get("competition"), self.cleaned_data.get("values")
        if competition is not None and values is not None:
            try:
                require_fitting_rules(competition, values)
            except Refusal as refusal:
                self.add_error("values", f"{refusal.problem}: {refusal.fix}")
        return cleaned


@admin.register(RulesVersion)
class RulesVersionAdmin(RecordedAdmin, ReadOnlyAdmin):
    """Versions of the rules. One is added and never changed: scores name theirs."""

    form = RulesForm
    organised_by = "competition__organisers"
    counts = ("matches", "evaluations")
    list_display = ("__str__", linked("competition"), "version", "note", "created_at")
    list_filter = (OF_COMPETITION,)
    list_select_related = ("competition",)
    search_fields = ("note", "competition__slug")
    readonly_fields = ("version", "created_at")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A form begins with the newest rules: mostly one value changes."""
        newest = self.get_queryset(request).order_by("-created_at", "-pk").first()
        begun = {"competition": newest.competition_id, "values": newest.values} if newest else {}
        return begun | super().get_changeform_initial_data(request)

    def save_model(self, request: HttpRequest, obj: Any, form: ModelForm[Any], change: bool) -> None:
        """Number it. The row of the competition is locked, so two at once get two numbers."""
        competition = Competition.objects.select_for_update().get(pk=obj.competition_id)
        newest = competition.rules_versions.aggregate(newest=Max("version"))["newest"] or 0
        obj.version, obj.created_at = newest + 1, clock.now()
        super().save_model(request, obj, form, change)


class SampleSetForm(SampleSetModelForm):
    """The name and the purpose of a sample set that nothing was measured on."""

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        others = self.instance.competition.sample_sets.exclude(pk=self.instance.pk)
        if others.filter(name=name).exists():
            raise ValidationError("Another sample set of the competition has this name.")
        return name

    def clean_purpose(self) -> str:
        before, purpose = self.initial["purpose"], str(self.cleaned_data["purpose"])
        others = self.instance.competition.sample_sets.exclude(pk=self.instance.pk)
        if purpose != before and before in NEEDED and not others.filter(purpose=before).exists():
            raise ValidationError(f"It is the only set for {before}: import another one first.")
        return purpose


@admin.register(SampleSet)
class SampleSetAdmin(RecordedAdmin, ReadOnlyAdmin):
    """Sample sets as rows: no image and no label is ever shown here. They are imported with the competition.

    Name and purpose change until a match or an evaluation uses the set.
    """

    form = SampleSetForm
    organised_by = "competition__organisers"
    counts = ("matches", "evaluations")
    list_display = ("__str__", linked("competition"), "purpose", "source", "split", "count", "imported_at")
    list_filter = (OF_COMPETITION, "purpose")
    list_select_related = ("competition",)
    search_fields = ("name", "source", "digest")
    readonly_fields = (
        "competition",
        "source",
        "split",
        "count",
        "target_seed",
        "imported_at",
        "digest",
        "class_names",
    )

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request) and not (obj and (obj.matches.exists() or obj.evaluations.exists()))

    def save_model(self, request: HttpRequest, obj: Any, form: ModelForm[Any], change: bool) -> None:
        # who begins to use it meanwhile waits for the row, or is seen
        if not self.has_change_permission(request, SampleSet.objects.select_for_update().get(pk=obj.pk)):
            raise PermissionDenied
        super().save_model(request, obj, form, change)


@admin.register(FreezeWindow)
class FreezeWindowAdmin(EditableAdmin):
    """Times in which nothing is accepted as a submission. Organisers add, change and delete them."""

    organised_by = "competition__organisers"
    list_display = ("reason", linked("competition"), "starts_at", "ends_at")
    list_filter = (OF_COMPETITION,)
    list_select_related = ("competition",)
    search_fields = ("reason", "competition__slug")
    date_hierarchy = "starts_at"

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request)


@admin.register(Organiser)
class OrganiserAdmin(EditableAdmin):
    """Who runs which competition. Organisers see it; only superusers appoint."""

    organised_by = "competition__organisers"
    list_display = ("user", linked("competition"))
    list_filter = (OF_COMPETITION,)
    list_select_related = ("user", "competition")
    search_fields = ("user__username", "competition__slug")
    autocomplete_fields = ("user",)

    def save_model(self, request: HttpRequest, obj: Organiser, form: ModelForm[Any], change: bool) -> None:
        """Whoever is appointed may also open the admin."""
        super().save_model(request, obj, form, change)
        appoint_organiser(competition=obj.competition, user=obj.user)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)


@admin.register(Entry)
class EntryAdmin(EditableAdmin):
    """Teams that take part. Only whether they may win prizes is set here."""

    organised_by = "competition__organisers"
    counts = ("repositories", "standings")
    list_display = ("__str__", linked("team"), linked("competition"), "ineligible_for_prizes", "joined_at")
    list_filter = (OF_COMPETITION, "ineligible_for_prizes")
    list_select_related = ("team", "competition")
    search_fields = ("team__slug", "team__name")
    date_hierarchy = "joined_at"
    fixed = ("team", "competition", "joined_at")
