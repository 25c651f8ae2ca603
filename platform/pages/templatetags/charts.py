"""Template filters for charts and their tables."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString

from core.number_format import local
from evaluation.charts.histogram import Histogram
from evaluation.charts.line_chart import LineChart
from evaluation.charts.svg import svg as drawn
from pages.language import tick, translated

register = template.Library()


@register.filter
def cell(value: str | float | None) -> str:
    """Format a cell of a table: an empty cell as a dash, numbers with the digits of the CSV file."""
    if value is None:
        return "\N{EN DASH}"
    return translated(value) if isinstance(value, str) else local(str(value))


@register.filter
def svg(chart: LineChart | Histogram) -> SafeString:
    """Draw a chart; the drawing escapes its texts."""
    return SafeString(drawn(chart, translated, tick))


register.filter("translated", translated)
