"""Admin base classes that decide who sees and changes which rows.

Superusers see everything. Organisers who are staff see and change the rows of their own competitions as far as their
roles allow (`core.roles`), without Django's model permissions. Other people see nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import DateTimeField, Field, Model, QuerySet
from django.db.models.expressions import Combinable
from django.forms import Media, ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_safe

from core import event_log
from core.administration.confirmed_actions import CHANGED_NOTHING, AdminAction, confirmed_action
from core.administration.csv_export import csv_of_list
from core.administration.key_search import found_by_keys, key_as_number
from core.administration.link_columns import (
    count_column,
    count_of,
    counted_model,
    is_closed,
    unlinked,
    without_closed_link,
)
from core.errors import Refusal
from core.role_lookups import role_lookups
from core.roles import Right, held_by, roles_with

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    Page = ModelAdmin[Any]
else:
    from unfold.admin import ModelAdmin as Page


_REFUSED = "_refused"
"""The attribute of a request that says why a service has refused what it sends."""

_SEEN = "seen"
"""The name by which a form sends a digest of the row that it was made of."""

MOST_FOUND = 20
"""Rows of each model that the search of the sidebar finds."""

_SCRIPTS_OF_LISTS = ("admin/js/actions.js",)
_SCRIPTS_OF_FORMS = (
    "admin/js/vendor/jquery/jquery.min.js",
    "admin/js/jquery.init.js",
    "admin/js/core.js",
    "admin/js/admin/RelatedObjectLookups.js",
)


def rights(request: HttpRequest) -> frozenset[Right]:
    """Return what the user's roles allow in at least one competition. Cached on the request."""
    cache = vars(request)
    if "_rights" not in cache:
        user = request.user
        cache["_rights"] = held_by(user) if user.is_authenticated else frozenset()
    found: frozenset[Right] = cache["_rights"]
    return found


def is_superuser(request: HttpRequest) -> bool:
    """Return whether the user may see rows that belong to no competition."""
    return request.user.is_active and request.user.is_staff and request.user.is_superuser


def is_superuser_or_organiser(request: HttpRequest) -> bool:
    """Return whether the user may see rows of at least one competition."""
    return is_superuser(request) or Right.SEE in rights(request)


class ReadOnlyAdmin(Page):
    """Base of read-only admin pages.

    What a page does not name needs more: a new page shows nothing to helpers and changes nothing for judges.
    """

    for_organisers: ClassVar[bool] = False
    """True if the rows belong to no competition; then a role in any of them allows what it allows."""
    viewing: ClassVar[Right] = Right.SEE_SECRETS
    """What a person needs who sees the rows."""
    changing: ClassVar[Right] = Right.RUN
    """What a person needs who adds, changes or deletes rows, on pages where anybody may. Actions have their own."""
    compressed: ClassVar[bool] = False
    """True for large pages that show no secret: see `core.compression`."""
    counts: ClassVar[tuple[str, ...]] = ()
    """Relations to the row. Each becomes a column with the number of related rows, linked to their list."""
    search_related: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Fields of related rows in which a search of a large list looks. Its `search_fields` are lookups with an index."""
    actions_detail: ClassVar[Sequence[str | Mapping[str, Any]]] = ()
    """Names of the actions on the page of a row; a mapping is a menu of `items` with a `title`."""

    list_filter_sheet = False
    list_per_page = 50
    list_after_template = "admin/csv_link.html"
    empty_value_display = ""  # on a phone such a cell is not shown

    @property
    def organised_by(self) -> str | None:
        """Lookup from a row to the roles of its competition; None if it belongs to none: only superusers see it."""
        return role_lookups().get(self.model)

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

        @require_safe
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
        context = {"media": Media(js=_SCRIPTS_OF_LISTS), **(extra_context or {})}
        shown = super().changelist_view
        return _refusal_as_message(request, lambda: shown(request, context))

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        """Show or save the form; to a person who may not save it (any more), say so.

        What a service refuses is shown in the form, with all that was entered.
        """
        self._refuse_post(request, self.has_change_permission if object_id else self.has_add_permission, object_id)
        shown = super().changeform_view
        if request.method == "POST":
            try:
                return shown(request, object_id, form_url, extra_context)
            except Refusal as refusal:  # the change is undone
                vars(request)[_REFUSED] = _in_words(refusal)
        return _refusal_as_message(request, lambda: shown(request, object_id, form_url, extra_context))

    def get_form(
        self, request: HttpRequest, obj: Any | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelForm[Any]]:
        """Return the form; after a service has refused what was entered, with the refusal as an error."""
        form = super().get_form(request, obj, change, **kwargs)
        refused = vars(request).get(_REFUSED)
        return form if refused is None else _refused_form(form, refused)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        """Ask about a deletion, or delete; to a person who may not (any more), say so."""
        self._refuse_post(request, self.has_delete_permission, object_id)
        shown = super().delete_view
        return _refusal_as_message(request, lambda: shown(request, object_id, extra_context))

    def _refuse_post(self, request: HttpRequest, allowed: Callable[..., bool], object_id: str | None) -> None:
        if request.method != "POST" or is_superuser(request):
            return
        row = self.get_object(request, object_id) if object_id else None
        if (object_id and row is None) or not allowed(request, *([row] if object_id else [])):
            raise PermissionDenied(CHANGED_NOTHING)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Show the form, or the page of a row that nobody can change, which needs no scripts."""
        row = kwargs.get("obj")
        if row is not None and not self.has_change_permission(request, row):
            context["media"] = Media()
        return super().render_change_form(request, context, *args, **kwargs)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows that the user may see, with their counts."""
        rows: QuerySet[Any] = self.rows_with(self.viewing, request, super().get_queryset(request))
        return rows.annotate(**self._counted) if self.counts else rows

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return the row; None if there is none, also for a number that is too large for a key of another table."""
        key: Any = self.opts.pk
        while key.remote_field:
            key = key.target_field
        try:
            key.run_validators(key.to_python(object_id))
        except ValidationError:
            return None
        return super().get_object(request, object_id, from_field)

    def rows_with(self, right: Right, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return those of `rows` with which the user may do something."""
        if is_superuser(request):
            return rows
        if right not in rights(request):
            return rows.none()
        if self.organised_by is None:
            return rows if self.for_organisers else rows.none()
        roles = self.organised_by
        return rows.filter(**{f"{roles}__user": request.user.pk, f"{roles}__role__in": roles_with(right)})

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        """Return what a search looks in; keys (`=pk`) are compared as numbers, which finds them by an index."""
        return [key_as_number(each) for each in super().get_search_fields(request)]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows that a search finds; for that of the sidebar, which shows them all, the first ones."""
        if self.search_related:
            own = self.get_search_fields(request)
            found, repeated = found_by_keys(queryset, search_term, own, self.search_related), False
        else:
            found, repeated = super().get_search_results(request, queryset, search_term)
        everywhere = request.path == reverse("admin:search")
        return found[:MOST_FOUND] if everywhere else found, repeated

    def get_field_queryset(self, db: str | None, db_field: Any, request: HttpRequest) -> QuerySet[Any] | None:
        """Limit the choices of a form field to rows that the user sees and may use on this page."""
        page = self.admin_site._registry.get(db_field.remote_field.model)
        if not isinstance(page, ReadOnlyAdmin):
            return super().get_field_queryset(db, db_field, request)
        return page.rows_with(self.changing, request, page.get_queryset(request))

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        """Return the columns, with the counts last."""
        own = [without_closed_link(each, self, request) for each in super().get_list_display(request)]
        return (*own, *self._counts_seen(request))

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[Any, ...]:
        """Return the read-only fields, for an existing row including the counts."""
        fields = tuple(super().get_readonly_fields(request, obj))
        return (*fields, *self._counts_seen(request), *self._unlinked(fields, request)) if obj else fields

    def get_fieldsets(self, request: HttpRequest, obj: Any | None = None) -> Any:
        """Return the fields; those that nobody changes link to no page that the user may not open."""
        sets = super().get_fieldsets(request, obj)
        if obj is None:
            return sets
        shown = [name for _, options in sets for name in options["fields"]]
        fixed = self.get_readonly_fields(request, obj) if self.has_change_permission(request, obj) else shown
        closed: dict[Any, Any] = dict(zip(self._closed(fixed, request), self._unlinked(fixed, request), strict=True))
        return [
            (title, {**options, "fields": [closed.get(name, name) for name in options["fields"]]})
            for title, options in sets
        ]

    def _closed(self, names: Iterable[Any], request: HttpRequest) -> list[str]:
        return [name for name in names if isinstance(name, str) and is_closed(name, self, request)]

    def _unlinked(self, names: Iterable[Any], request: HttpRequest) -> list[Any]:
        return [self._without_links[name] for name in self._closed(names, request)]

    @cached_property
    def _counted(self) -> Mapping[str, Combinable]:
        return {f"{name}_count": count_of(self.model, name) for name in self.counts}

    @cached_property
    def _count_columns(self) -> Mapping[str, Any]:
        # created once, since Django compares columns by identity
        return {name: count_column(self.model, name) for name in self.counts}

    @cached_property
    def _without_links(self) -> Mapping[str, Any]:
        return {key.name: unlinked(key) for key in self.opts.concrete_fields if key.remote_field}

    def _counts_seen(self, request: HttpRequest) -> list[Any]:
        pages = {name: self.admin_site._registry.get(counted_model(self.model, name)) for name in self.counts}
        return [self._count_columns[name] for name, page in pages.items() if page and page.has_view_permission(request)]

    def may(self, right: Right, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may do something with a row (or its key), without one with any row of this page."""
        if is_superuser(request):
            return True
        if right not in rights(request) or not (self.for_organisers or self.organised_by):
            return False
        if obj is None or self.for_organisers:
            return True
        key = obj.pk if isinstance(obj, Model) else obj
        known: dict[Any, bool] = vars(request).setdefault("_rights_on_rows", {})  # each button asks
        asked = self.model, str(key), right
        if asked not in known:
            try:
                rows = self.model._default_manager.filter(pk=self.opts.pk.to_python(key))
            except ValidationError:  # an address that names no row
                return False
            known[asked] = self.rows_with(right, request, rows).exists()
        return known[asked]

    def formfield_for_dbfield(self, db_field: Field[Any, Any], request: HttpRequest, **kwargs: Any) -> Any:
        """Return the field of a form. Times name their zone: the browser's note knows today's difference alone."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if isinstance(db_field, DateTimeField) and field is not None:
            field.help_text = f"UTC. {field.help_text}".strip()
        return field

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.may(self.viewing, request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(self.viewing, request, obj)

    def has_answer_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may run the actions that answer teams (`core.administration.confirmed_actions`)."""
        return self.may(Right.ANSWER, request, obj)

    def has_judge_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may run the actions that judge."""
        return self.may(Right.JUDGE, request, obj)

    def has_run_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may run the other actions on a competition."""
        return self.may(Right.RUN, request, obj)

    def has_grant_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may run the actions on roles."""
        return self.may(Right.GRANT, request, obj)

    def has_archive_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may delete or archive a competition, and take it back."""
        return self.may(Right.ARCHIVE, request, obj)

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
        """Delete all rows or, if a service refuses one, none."""
        with transaction.atomic():
            for row in queryset:
                self.delete_model(request, row)


class EditableAdmin(RecordedAdmin, ReadOnlyAdmin):
    """Base of pages whose viewers may change the rows. `fixed` fields cannot change after creation.

    A form saves all of its fields, so one is refused whose row somebody else has changed since it was opened.
    """

    fixed: ClassVar[tuple[str, ...]] = ()
    change_form_before_template = "admin/seen_row.html"

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        """Show or save the form, unless the row has changed since the form was opened."""
        row = self.get_object(request, object_id) if request.method == "POST" and object_id else None
        if row is not None and request.POST.get(_SEEN, now := self._state(request, row)) != now:
            vars(request)[_REFUSED] = (
                f"{row} has changed since you opened this form, so nothing was saved: open it again, and enter your "
                "change there"
            )
        return super().changeform_view(request, object_id, form_url, extra_context)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Show the form, with a digest of the values that it shows."""
        row = kwargs.get("obj")
        if row is not None and self.has_change_permission(request, row):
            sent = request.method == "POST"  # then the row has what was entered
            context["seen"] = request.POST.get(_SEEN) if sent else self._state(request, row)
        return super().render_change_form(request, context, *args, **kwargs)

    def _state(self, request: HttpRequest, row: Model) -> str:
        fields = self.get_form(request, row, change=True).base_fields
        values = [(key.name, key.value_from_object(row)) for key in row._meta.concrete_fields if key.name in fields]
        return sha256(repr(values).encode()).hexdigest()

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[Any, ...]:
        """Return the read-only fields, for an existing row including `fixed`."""
        fields = super().get_readonly_fields(request, obj)
        return (*fields, *self.fixed, *self._unlinked(self.fixed, request)) if obj else fields

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(self.changing, request, obj)


class AddableAdmin(ReadOnlyAdmin):
    """Base of pages on which those add rows who may change them."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(self.changing, request, obj)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the field, with its only choice chosen where it is required."""
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        if field is not None and field.required and field.queryset is not None:
            choices = field.queryset[:2]
            field.initial = choices[0] if len(choices) == 1 else None
        return field


class ManagedAdmin(AddableAdmin, EditableAdmin):
    """Base of pages on which those add and delete rows who may change them."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(self.changing, request, obj)


def _refusal_as_message(request: HttpRequest, answer: Callable[[], HttpResponse]) -> HttpResponse:
    """Return the answer; if a service refuses, which undoes the change, show the page again with cause and fix."""
    try:
        return answer()
    except Refusal as refusal:
        messages.error(request, _in_words(refusal))
        return HttpResponseRedirect(request.get_full_path())


def _in_words(refusal: Refusal) -> str:
    return f"{refusal.problem}: {refusal.fix}" if refusal.fix else refusal.problem


def _refused_form(form: Any, refused: str) -> Any:
    """Return a class of forms like `form`, none of which is valid because of what was refused.

    But for those that change nothing, as a form that is sent twice by a second click.
    """

    def clean(self: Any) -> Any:
        cleaned = form.clean(self)
        if self.has_changed():
            self.add_error(None, refused)
        return cleaned

    return type(form)(form.__name__, (form,), {"clean": clean})


def model_field_names(model: type[Model], *, without: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of all fields of `model` in order, including non-editable ones."""
    hidden = {"id", *without}
    return tuple(field.name for field in model._meta.fields if field.name not in hidden)
