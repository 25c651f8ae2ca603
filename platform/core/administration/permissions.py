"""Who sees and changes which rows in the admin.

Superusers see everything. Organisers who are staff see and act on the rows of their own competitions, without any of
Django's model permissions. Nobody else sees a row.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from core import events
from core.administration.columns import count_column, count_of

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    Page = ModelAdmin[Any]
else:
    from unfold.admin import ModelAdmin as Page


def organises(request: HttpRequest) -> bool:
    """Whether the person at hand organises a competition. Asked once for each request."""
    known = vars(request)
    if "_organises" not in known:
        known["_organises"] = request.user.is_authenticated and request.user.organiser_roles.exists()
    return bool(known["_organises"])


def is_superuser(request: HttpRequest) -> bool:
    """Whether the person at hand may see rows that belong to no competition."""
    return request.user.is_active and request.user.is_staff and request.user.is_superuser


def is_superuser_or_organiser(request: HttpRequest) -> bool:
    """Whether the person at hand may see rows of some competition."""
    return is_superuser(request) or (request.user.is_active and request.user.is_staff and organises(request))


class ReadOnlyAdmin(Page):
    """Rows to look at: no button adds, changes or deletes one."""

    organised_by: ClassVar[str | None] = None
    """The lookup from a row to the organisers who see it; None where only superusers do."""
    for_organisers: ClassVar[bool] = False
    """Whether the rows belong to no competition and every organiser sees all of them."""
    counts: ClassVar[tuple[str, ...]] = ()
    """Names of relations to the row: each is a column with the number of related rows, and a link to them."""

    list_filter_sheet = False
    list_per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The rows that the person at hand may see, with their counts."""
        rows: QuerySet[Any] = super().get_queryset(request)
        if not is_superuser(request) and not self.for_organisers:
            rows = rows.filter(**{self.organised_by: request.user.pk}) if self.organised_by else rows.none()
        counted: QuerySet[Any] = rows.annotate(**{f"{name}_count": count_of(self.model, name) for name in self.counts})
        return counted

    def get_field_queryset(self, db: str | None, db_field: Any, request: HttpRequest) -> QuerySet[Any] | None:
        """Choices of a form are narrowed as the pages of the rows to choose from."""
        page = self.admin_site._registry.get(db_field.remote_field.model)
        return page.get_queryset(request) if page else super().get_field_queryset(db, db_field, request)

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        """The columns, the counts last."""
        return (*super().get_list_display(request), *self._count_columns)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[Any, ...]:
        """What cannot be edited; the counts among it once there is a row to count for."""
        fields = tuple(super().get_readonly_fields(request, obj))
        return (*fields, *self._count_columns) if obj else fields

    @cached_property
    def _count_columns(self) -> tuple[Any, ...]:
        # made once: Django tells columns apart by identity
        return tuple(count_column(self.model, name) for name in self.counts)

    def _may(self, request: HttpRequest) -> bool:
        shared = self.for_organisers or self.organised_by
        return is_superuser_or_organiser(request) if shared else is_superuser(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._may(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request)

    def has_action_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the person may do the page's acts (see `core.administration.actions`)."""
        return self._may(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class RecordedAdmin(Page):
    """What is saved or deleted here is an event, with the person and the names of the changed fields."""

    def save_model(self, request: HttpRequest, obj: Any, form: ModelForm[Any], change: bool) -> None:
        super().save_model(request, obj, form, change)
        kind = obj._meta.model_name
        by = request.user if request.user.is_authenticated else None
        if change:
            events.record(f"{kind}.changed", obj, by=by, fields=form.changed_data)
        else:
            events.record(f"{kind}.added", obj, by=by, title=str(obj))

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        by = request.user if request.user.is_authenticated else None
        events.record(f"{obj._meta.model_name}.deleted", obj, by=by, title=str(obj))
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self.delete_model(request, row)


class EditableAdmin(RecordedAdmin, ReadOnlyAdmin):
    """Rows that whoever sees them may change. `fixed` fields cannot be changed once the row is there."""

    fixed: ClassVar[tuple[str, ...]] = ()

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[Any, ...]:
        """What cannot be edited."""
        fields = super().get_readonly_fields(request, obj)
        return (*fields, *self.fixed) if obj else fields

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request)


def model_field_names(model: type[Model], *, without: Iterable[str] = ()) -> tuple[str, ...]:
    """The columns of `model` by name, in order, also those that no form edits."""
    hidden = {"id", *without}
    return tuple(field.name for field in model._meta.fields if field.name not in hidden)
