"""The rows of an admin list as a CSV file: those of its filters and search, all pages of them, with its columns."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from typing import TYPE_CHECKING, Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import label_for_field, lookup_field
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.http import HttpRequest, HttpResponseBadRequest, HttpResponseBase, StreamingHttpResponse
from django.utils.html import strip_tags
from django.utils.safestring import SafeString

from evaluation.charts.chart_table import Cell, csv_lines

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

CHECKBOX = "action_checkbox"
ROWS_AT_A_TIME = 2000
"""Rows that are in memory at the same time."""


def csv_of_list(page: ModelAdmin[Any], request: HttpRequest) -> HttpResponseBase:
    """Return the rows that the list of `page` shows for the address's filters and search, in its order."""
    if not page.has_view_permission(request):
        raise PermissionDenied
    try:
        shown = page.get_changelist_instance(request)
    except IncorrectLookupParameters:
        return HttpResponseBadRequest("The list has no such filter. Open the list and follow its link to the export.")
    return StreamingHttpResponse(
        csv_lines(_rows(page, shown)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{page.opts.model_name}.csv"'},
    )


def _rows(page: ModelAdmin[Any], shown: ChangeList) -> Iterator[list[Cell]]:
    columns = [each for each in shown.list_display if each != CHECKBOX]
    yield ["id", *(str(label_for_field(each, page.model, page)) for each in columns)]
    for row in shown.queryset.iterator(chunk_size=ROWS_AT_A_TIME):
        yield [str(row.pk), *(_cell(page, each, row) for each in columns)]


def _cell(page: ModelAdmin[Any], column: Any, row: Any) -> Cell:
    """Return what the list shows in a cell, as plain text; a date and time in UTC."""
    try:
        field, _, value = lookup_field(column, row, page)
    except ObjectDoesNotExist:
        return None
    if field is not None and field.flatchoices:
        value = dict(field.flatchoices).get(value, value)
    if isinstance(value, SafeString):
        return unescape(strip_tags(value)).strip()
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)
