"""Template filters for charts and their tables."""

from __future__ import annotations

from collections.abc import Mapping

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from core.numbers import local
from evaluation.charts import drawing
from evaluation.charts.bars import Histogram
from evaluation.charts.lines import LineChart
from leaderboards.board_rows import BoardRow
from pages.history import SPARK_HEIGHT, SPARK_WIDTH
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
    return SafeString(drawing.svg(chart, translated, tick))


register.filter("translated", translated)


@register.simple_tag
def sparkline(paths: Mapping[int, str], row: BoardRow) -> SafeString:
    """Draw the scores of a team over time, as a link to its history; nothing for a team with one score."""
    path = paths.get(row.submission)
    if path is None:
        return SafeString()
    words = gettext("Scores of %(team)s over time") % {"team": row.team}
    return format_html(
        '<a href="{}#history" aria-label="{}"><svg class="spark" width="{}" height="{}" '
        'aria-hidden="true" focusable="false"><path d="{}"/></svg></a>',
        *(reverse("pages:team", args=[row.team_slug]), words, SPARK_WIDTH, SPARK_HEIGHT, path),
    )
