"""The table of a chart as a file to download."""

from __future__ import annotations

from django.http import HttpResponse

from evaluation.charts.table import Table


def csv_file(table: Table, name: str) -> HttpResponse:
    """Return the table as a CSV file to download."""
    return HttpResponse(
        table.csv(),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.csv"'},
    )
