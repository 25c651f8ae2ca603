"""Admin base classes that decide who sees and changes which rows.

Superusers see everything. Organisers who are staff see and change the rows of their own competitions, without Django's
model permissions. Other people see nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models import Model, QuerySet
from django.forms import Media, ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern, path, reverse

from core import event_log
from core.administration.actions import AdminAction, confirmed_action
from core.administration.columns import count_column, count_of
from core.administration.csv_export import csv_of_list
from core.extension_point import ExtensionPoint

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    Page = ModelAdmin[Any]
else:
    from unfold.admin import ModelAdmin as Page


MOST_FOUND = 20
"""Rows of each model that the search of the sidebar finds."""

_SCRIPTS_OF_LISTS = ("admin/js/actions.js",)
_SCRIPTS_OF_FORMS = (
    "admin/js/vendor/jquery/jquery.min.js",
    "admin/js/jquery.init.js",
    "admin/js/core.js",
    "admin/js/admin/RelatedObjectLookups.js",
)

is_organiser: ExtensionPoint[[AbstractBaseUser], bool] = ExtensionPoint()
"""Does the user organise a competition?"""


def organises(request: HttpRequest) -> bool:
    """Return whether the user organises a competition. Cached on the request."""
    cache = vars(request)
    if "_organises" not in cache:
        cache["_organises"] = request.user.is_authenticated and any(is_organiser.answers(request.user))
    return bool(cache["_organises"])


def is_superuser(request: HttpRequest) -> bool:
    """Return whether the user may see rows that belong to no competition."""
    return request.user.is_active and request.user.is_staff and request.user.is_superuser


def is_superuser_or_organiser(request: HttpRequest) -> bool:
    """Return whether the user may see rows of at least one competition."""
    return is_superuser(request) or (request.user.is_active and request.user.is_staff and organises(request))


class ReadOnlyAdmin(Page):
    """Base of read-only admin pages."""

    organised_by: ClassVar[str | None] = None
    """Lookup from a row to the organisers who see it; None if only superusers do."""
    for_organisers: ClassVar[bool] = False
    """True if the rows belong to no competition and every organiser sees all of them."""
    counts: ClassVar[tuple[str, ...]] = ()
    """Relations to the row. Each becomes a column with the number of related rows, linked to their list."""
    actions_detail: ClassVar[Sequence[str | Mapping[str, Any]]] = ()
    """Names of the actions on the page of a row; a mapping is a menu of `items` with a `title`."""

    list_filter_sheet = False
    list_per_page = 50
    list_after_template = "admin/csv_link.html"
    empty_value_display = ""  # on a phone such a cell is not shown

    @classmethod
    def add_counts(cls, *names: str) -> None:
        """Add relations to `counts`: those of higher apps, which do so in their `admin.py`."""
        cls.counts = (*cls.counts, *names)

    @classmethod
    def add_action(cls, name: str, definition: AdminAction) -> None:
        """Add an action to the list and to the page of a row: one of a higher app, which does so in its `admin.py`."""
        setattr(cls, name, confirmed_action(definition))
        cls.actions = (name, *(cls.actions or ()))
        cls.actions_detail = (name, *cls.actions_detail)

    def get_urls(self) -> list[URLPattern]:
        """Return the addresses of the pages, and of the list as CSV."""

        def export(request: HttpRequest) -> HttpResponseBase:
            return csv_of_list(self, request)

        name = f"{self.opts.app_label}_{self.opts.model_name}_csv"
        own: list[URLPattern] = super().get_urls()
        return [path("csv/", self.admin_site.admin_view(export), name=name), *own]

    @property
    def media(self) -> Media:
        """The scripts of forms, without Django's for slugs that are made of titles, which no page needs."""
        return Media(js=_SCRIPTS_OF_FORMS)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the list, with the one script that it needs."""
        return super().changelist_view(request, {"media": Media(js=_SCRIPTS_OF_LISTS), **(extra_context or {})})

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Show the form, or the page of a row that nobody can change, which needs no scripts."""
        row = kwargs.get("obj")
        if row is not None and not self.has_change_permission(request, row):
            context["media"] = Media()
        return super().render_change_form(request, context, *args, **kwargs)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows that the user may see, with their counts."""
        rows: QuerySet[Any] = super().get_queryset(request)
        if not is_superuser(request) and not self.for_organisers:
            rows = rows.filter(**{self.organised_by: request.user.pk}) if self.organised_by else rows.none()
        counted: QuerySet[Any] = rows.annotate(**{f"{name}_count": count_of(self.model, name) for name in self.counts})
        return counted

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows that a search finds; for that of the sidebar, which shows them all, the first ones."""
        found, repeated = super().get_search_results(request, queryset, search_term)
        everywhere = request.path == reverse("admin:search")
        return found[:MOST_FOUND] if everywhere else found, repeated

    def get_field_queryset(self, db: str | None, db_field: Any, request: HttpRequest) -> QuerySet[Any] | None:
        """Limit the choices of a form field to rows that the user may see."""
        page = self.admin_site._registry.get(db_field.remote_field.model)
        return page.get_queryset(request) if page else super().get_field_queryset(db, db_field, request)

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        """Return the columns, with the counts last."""
        return (*super().get_list_display(request), *self._count_columns)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[Any, ...]:
        """Return the read-only fields, for an existing row including the counts."""
        fields = tuple(super().get_readonly_fields(request, obj))
        return (*fields, *self._count_columns) if obj else fields

    @cached_property
    def _count_columns(self) -> tuple[Any, ...]:
        # created once, since Django compares columns by identity
        return tuple(count_column(self.model, name) for name in self.counts)

    def _may(self, request: HttpRequest) -> bool:
        shared = self.for_organisers or self.organised_by
        return is_superuser_or_organiser(request) if shared else is_superuser(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._may(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request)

    def has_action_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may run the page's actions (see `core.administration.actions`)."""
        return self._may(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class RecordedAdmin(Page):
    """Base of pages that record every change as an event, with the person and the names of the changed fields."""

    def save_model(self, request: HttpRequest, obj: Any, form: ModelForm[Any], change: bool) -> None:
        super().save_model(request, obj, form, change)
        model_name = obj._meta.model_name
        by = request.user if request.user.is_authenticated else None
        if change:
            event_log.record(f"{model_name}.changed", obj, by=by, fields=form.changed_data)
        else:
            event_log.record(f"{model_name}.added", obj, by=by, title=str(obj))

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        by = request.user if request.user.is_authenticated else None
        event_log.record(f"{obj._meta.model_name}.deleted", obj, by=by, title=str(obj))
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self.delete_model(request, row)


class EditableAdmin(RecordedAdmin, ReadOnlyAdmin):
    """Base of pages whose viewers may change the rows. `fixed` fields cannot change after creation."""

    fixed: ClassVar[tuple[str, ...]] = ()

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[Any, ...]:
        """Return the read-only fields, for an existing row including `fixed`."""
        fields = super().get_readonly_fields(request, obj)
        return (*fields, *self.fixed) if obj else fields

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request)


def model_field_names(model: type[Model], *, without: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of all fields of `model` in order, including non-editable ones."""
    hidden = {"id", *without}
    return tuple(field.name for field in model._meta.fields if field.name not in hidden)
