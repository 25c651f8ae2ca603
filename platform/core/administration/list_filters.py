"""Filters of admin lists that read no row of the list to know their choices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.admin import RelatedFieldListFilter, SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest


class SeenRelatedFilter(RelatedFieldListFilter):
    """Filter by a related row: by every one with which the user may do what the list needs.

    Django's `RelatedOnlyFieldListFilter` offers those that a row of the list has, and reads millions of rows for it.
    """

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:
        """Return keys and names of the related rows."""
        model = field.remote_field.model
        page = model_admin.admin_site.get_model_admin(model)
        seen = page.rows_with(model_admin.viewing, request, model._default_manager.all())
        ordering = self.field_admin_ordering(field, request, model_admin)
        return field.get_choices(include_blank=False, limit_choices_to={"pk__in": seen.values("pk")}, ordering=ordering)


def one_of(column: str, values: Iterable[str]) -> type[SimpleListFilter]:
    """Return a filter by the values that a column may have, for one whose field does not list them."""
    choices = [(each, each or "none") for each in values]

    class Filter(SimpleListFilter):
        title = column
        parameter_name = column

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return choices

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            return queryset if self.value() is None else queryset.filter(**{column: self.value()})

    return Filter
