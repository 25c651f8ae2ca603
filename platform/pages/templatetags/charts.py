"""Template filters for charts and their tables."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString

from evaluation.charts.chart_as_svg import svg as drawn
from evaluation.charts.histogram import Histogram
from evaluation.charts.line_chart import LineChart

register = template.Library()


@register.filter
def cell(value: str | float | None) -> str:
    """Format a cell of a table: an empty cell as a dash, numbers with the digits of the CSV file."""
    return "\N{EN DASH}" if value is None else str(value)


@register.filter
def svg(chart: LineChart | Histogram) -> SafeString:
    """Draw a chart; the drawing escapes its texts."""
    return SafeString(drawn(chart))
