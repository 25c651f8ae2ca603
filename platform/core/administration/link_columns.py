"""Admin columns that link a row to related rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Field, IntegerField, ManyToManyRel, ManyToOneRel, Model, OuterRef, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from unfold.decorators import display

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

Column = Callable[[Any], Any]

_LINKED = "_linked"
"""The attribute of a column with links: the name of the foreign key."""


def linked(name: str, *, title: str = "") -> Column:
    """Return a column that links to the row of the foreign key `name`, if the user may open its page."""

    def column(row: Any) -> str | None:
        related = getattr(row, name)
        return link_to(related) if related is not None else None

    described = _described(column, title or name.replace("_", " "), ordering=name)
    vars(described)[_LINKED] = name
    return described


def without_closed_link(column: Any, page: ModelAdmin[Any], request: HttpRequest) -> Any:
    """Return a column of the list of `page`; instead of a link that the user may not open, the name of its field."""
    name = getattr(column, _LINKED, "")
    return name if is_closed(name, page, request) else column


def is_closed(name: Any, page: ModelAdmin[Any], request: HttpRequest) -> bool:
    """Return whether `name` is a foreign key of `page` to rows whose pages the user may not open."""
    keys = {field.name: field.related_model for field in page.opts.concrete_fields if field.related_model}
    related = page.admin_site._registry.get(keys.get(name))  # type: ignore[arg-type]
    return related is not None and not related.has_view_permission(request)


def unlinked(key: Field[Any, Any]) -> Column:
    """Return a field of a form that names the row of a foreign key, where Django's own would link to it."""

    def field(row: Any) -> str | None:
        related = getattr(row, key.name)
        return str(related) if related is not None else None

    return _described(field, str(key.verbose_name), ordering=key.name)


def labelled(name: str, colours: Mapping[str, str]) -> Column:
    """Return a column that shows the field `name` as a label in one of `colours`, e.g. {"ready": "success"}."""

    def column(row: Any) -> str:
        return str(getattr(row, name))

    decorated: Column = display(description=name.replace("_", " "), ordering=name, label=dict(colours))(column)
    return decorated


def link_to(row: Model) -> str:
    """Return a link to the admin page of `row`."""
    address = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])
    return format_html('<a class="text-link" href="{}">{}</a>', address, row)


def count_of(model: type[Model], name: str) -> Combinable:
    """Return an expression that counts the rows of the relation `name`, as a subquery so counts do not multiply."""
    related, back = _reverse_relation(model, name)
    counted = related._default_manager.filter(**{back: OuterRef("pk")}).order_by().values(back)
    return Coalesce(
        Subquery(counted.annotate(number=Count("pk")).values("number"), output_field=IntegerField()), Value(0)
    )


def count_column(model: type[Model], name: str) -> Column:
    """Return a column that shows `<name>_count` (see `count_of`) and links to the list of those rows."""
    related, back = _reverse_relation(model, name)
    address = reverse(f"admin:{related._meta.app_label}_{related._meta.model_name}_changelist")

    def column(row: Any) -> str:
        number = getattr(row, f"{name}_count")
        return format_html('<a class="text-link" href="{}?{}__id__exact={}">{}</a>', address, back, row.pk, number)

    return _described(column, name.replace("_", " "), ordering=f"{name}_count")


def counted_model(model: type[Model], name: str) -> type[Model]:
    """Return the model whose rows `count_column` counts."""
    return _reverse_relation(model, name)[0]


def _reverse_relation(model: type[Model], name: str) -> tuple[type[Model], str]:
    relation = model._meta.get_field(name)
    if isinstance(relation, ManyToOneRel | ManyToManyRel):
        return relation.related_model, relation.field.name
    return relation.related_model, relation.remote_field.related_name  # type: ignore[union-attr,return-value]


def _described(column: Column, title: str, *, ordering: str) -> Column:
    decorated: Column = display(description=title, ordering=ordering)(column)
    return decorated
