"""A chart as an SVG file of its own, with its key: for papers and slides."""

from __future__ import annotations

from html import escape
from itertools import count

from evaluation.charts.chart_as_svg import svg
from evaluation.charts.line_chart import LineChart

_MARGIN = 12
_ROW = 18
"""Height of a line of the key."""

_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4")
_COLOURS = ("#00696a", "#a8431b", "#2a559f", "#a2296c", "#666700")
"""As on the site, in the notation that every program for drawings knows."""

_STYLE = (
    "text { font-family: Helvetica, Arial, sans-serif; font-size: 12px; fill: #1d2129 } "
    ".chart-title { font-weight: bold } .chart-tick { fill: #565c68 } path { fill: none } "
    ".chart-grid { stroke: #dcdad4; stroke-width: 0.75 } .chart-axis { stroke: #8b8a86 } "
    ".chart-event { stroke: #565c68; stroke-dasharray: 1 3 } "
    ".chart-line { stroke-width: 2.25; stroke-linejoin: round } "
    ".chart-dots { stroke-width: 7; stroke-linecap: round } .chart-band { opacity: 0.17; stroke: none } "
)


def svg_file(chart: LineChart) -> str:
    """Return a chart of lines as a file: on white, with title, colours, and the names of its lines below."""
    names = [(each.number, each.name) for each in chart.drawn]
    below = chart.height + _MARGIN
    width, height = chart.width + 2 * _MARGIN, below + _ROW * (len(names) + 1) + _MARGIN
    style = _STYLE + " ".join(_line_style(number) for number, _ in names)
    inner = svg(chart).replace(
        "<svg ", f'<svg x="{_MARGIN}" y="{_MARGIN + _ROW}" width="{chart.width}" height="{chart.height}" ', 1
    )
    key = [
        f'<path class="chart-line chart-{number}" d="M{_MARGIN} {at - 4}h28"/>'
        f'<text x="{_MARGIN + 36}" y="{at}">{escape(name)}</text>'
        for at, (number, name) in zip(count(below + 2 * _ROW - 6, _ROW), names, strict=False)
    ]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<style>{style}</style>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_MARGIN}" y="{_ROW + 4}" class="chart-title">{escape(chart.title)}</text>',
        inner,
        *key,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _line_style(number: int) -> str:
    turn, place = divmod(number - 1, len(_COLOURS))
    # the sixth curve has the first colour again, with other dashes
    colour, dashes = _COLOURS[place], _DASHES[(place + turn) % len(_DASHES)]
    dash = f"stroke-dasharray: {dashes}" if dashes else ""
    return (
        f".chart-{number} {{ stroke: {colour}; {dash} }} "
        f".chart-band.chart-{number} {{ fill: {colour} }} .chart-dots.chart-{number} {{ stroke-dasharray: none }}"
    )
