"""Tables and drawings of charts as files to download."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from django.http import HttpResponse

from evaluation.charts.chart_as_svg_file import svg_file
from evaluation.charts.chart_table import Cell, ChartTable
from evaluation.charts.line_chart import LineChart

Row = TypeVar("Row")


def table_of(rows: Iterable[Row], columns: Mapping[str, Callable[[Row], Cell]]) -> ChartTable:
    """Return the table of rows: in each column what its function makes of the row."""
    return ChartTable(tuple(columns), [[value(row) for value in columns.values()] for row in rows])


def csv_file(table: ChartTable, name: str) -> HttpResponse:
    """Return the table as a CSV file to download."""
    return HttpResponse(
        table.csv(),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.csv"'},
    )


def svg_download(chart: LineChart, name: str) -> HttpResponse:
    """Return the drawing as an SVG file to download."""
    return HttpResponse(
        svg_file(chart),
        content_type="image/svg+xml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.svg"'},
    )
