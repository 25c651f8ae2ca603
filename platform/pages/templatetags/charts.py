"""Template filters for charts and their tables."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString

from pages.charts import drawing
from pages.charts.bars import Histogram
from pages.charts.lines import LineChart

register = template.Library()


@register.filter
def cell(value: str | float | None) -> str:
    """Format a cell of a table: an empty cell as a dash, numbers as in the CSV file."""
    return "\N{EN DASH}" if value is None else str(value)


@register.filter
def svg(chart: LineChart | Histogram) -> SafeString:
    """Draw a chart; the drawing escapes its texts."""
    return SafeString(drawing.svg(chart))
