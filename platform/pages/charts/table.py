"""Adapter: the table of a chart, and the file to download."""

from __future__ import annotations

from django.http import HttpResponse

from evaluation.charts.table import Cell, Table

__all__ = ["Cell", "Table", "csv_file"]


def csv_file(table: Table, name: str) -> HttpResponse:
    """Return the table as a CSV file to download."""
    return HttpResponse(
        table.csv(),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.csv"'},
    )
