"""Template filters for charts and their tables."""

from __future__ import annotations

from collections.abc import Sequence

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString

from evaluation.charts.chart_as_svg import svg as drawn
from evaluation.charts.chart_table import Cell, ChartTable
from evaluation.charts.histogram import Histogram
from evaluation.charts.line_chart import LineChart

register = template.Library()


@register.filter
def table_rows(table: ChartTable) -> SafeString:
    """Write the rows of a table, each with its first cell as its heading: hundreds of them, so without a template."""
    return SafeString("".join(map(_row, table.rows)))


def _row(row: Sequence[Cell]) -> str:
    first, *others = map(_cell, row)
    cells = "".join(f'<td class="end">{each}</td>' for each in others)
    return f'<tr><th scope="row" class="end">{first}</th>{cells}</tr>'


def _cell(value: Cell) -> str:
    """Return an empty cell as a dash, numbers with the digits of the CSV file."""
    return "\N{EN DASH}" if value is None else escape(value)


@register.filter
def svg(chart: LineChart | Histogram) -> SafeString:
    """Draw a chart; the drawing escapes its texts."""
    return SafeString(drawn(chart))
