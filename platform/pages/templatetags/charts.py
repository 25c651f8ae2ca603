"""Template filters for charts and their tables."""

from __future__ import annotations

from collections.abc import Mapping

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from evaluation.charts import drawing
from evaluation.charts.bars import Histogram
from evaluation.charts.lines import LineChart
from leaderboards.selectors import BoardRow
from pages.history import SPARK_HEIGHT, SPARK_WIDTH

register = template.Library()


@register.filter
def cell(value: str | float | None) -> str:
    """Format a cell of a table: an empty cell as a dash, numbers as in the CSV file."""
    return "\N{EN DASH}" if value is None else str(value)


@register.filter
def svg(chart: LineChart | Histogram) -> SafeString:
    """Draw a chart; the drawing escapes its texts."""
    return SafeString(drawing.svg(chart))


@register.simple_tag
def sparkline(paths: Mapping[int, str], row: BoardRow) -> SafeString:
    """Draw the scores of a team over time, as a link to its history; nothing for a team with one score."""
    path = paths.get(row.submission)
    if path is None:
        return SafeString()
    return format_html(
        '<a href="{}#history" aria-label="Scores of {} over time"><svg class="spark" width="{}" height="{}" '
        'aria-hidden="true" focusable="false"><path d="{}"/></svg></a>',
        *(reverse("pages:team", args=[row.team_slug]), row.team, SPARK_WIDTH, SPARK_HEIGHT, path),
    )
