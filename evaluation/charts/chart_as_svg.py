"""A chart as an SVG element. Coordinates are attributes; `charts.css` gives its classes colours and dashes."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from html import escape

from evaluation.charts.histogram import Histogram, HistogramBar
from evaluation.charts.line_chart import BumpChart, Drawn, Label, LineChart

_HUNDREDTH = Decimal("0.01")


def svg(chart: LineChart | Histogram) -> str:
    """Return the drawing with its title and description."""
    curves, key = isinstance(chart, LineChart), escape(chart.key)
    area = chart if isinstance(chart, LineChart) else LineChart
    axes = [
        f'<path class="chart-axis" d="M{area.left} {area.top}V{area.bottom}H{area.right}"/>',
        f'<text class="chart-name" x="{area.left}" y="{area.top - 12}">{escape(chart.y_name)}</text>',
        f'<text class="chart-name" x="{area.right}" y="{area.bottom + 38}" text-anchor="end">'
        f"{escape(chart.x_name)}</text>",
    ]
    drawing = [_events(chart), *axes, *_curves(chart)] if isinstance(chart, LineChart) else [_bars(chart.bars), *axes]
    lines = [
        f'<svg viewBox="0 0 {area.width} {area.height}" role="{_role(chart)}" '
        f'aria-labelledby="{key}-title {key}-text" focusable="false">',
        f'  <title id="{key}-title">{escape(chart.title)}</title>',
        f'  <desc id="{key}-text">{escape(chart.description)}</desc>',
        f"  {_up(chart.y_ticks, area)}",
        f"  {_along(chart.x_ticks, area, area.top if curves else area.bottom)}",
        *(f"  {line}" for line in drawing),
        "</svg>",
    ]
    return "\n  ".join(lines)


def _up(ticks: Iterable[Label], area: LineChart | type[LineChart]) -> str:
    return "".join(
        f'<path class="chart-grid" d="M{area.left} {_place(tick.at)}H{area.right}"/>'
        f'<text class="chart-tick" x="{area.left - 6}" y="{_place(tick.at)}" dy="4" text-anchor="end">'
        f"{escape(tick.text)}</text>"
        for tick in ticks
    )


def _along(ticks: Iterable[Label], area: LineChart | type[LineChart], top: int) -> str:
    return "".join(
        f'<path class="chart-grid" d="M{_place(tick.at)} {top}V{area.bottom + 5}"/>'
        f'<text class="chart-tick" x="{_place(tick.at)}" y="{area.bottom + 19}" text-anchor="middle">'
        f"{escape(tick.text)}</text>"
        for tick in ticks
    )


def _events(chart: LineChart) -> str:
    return "".join(
        f'<path class="chart-event" d="M{_place(event.at)} {chart.top}V{chart.bottom}">'
        f"<title>{escape(event.text)}</title></path>"
        for event in chart.events
    )


def _curves(chart: LineChart) -> tuple[str, str]:
    """Return the bands, and the curves above all of them."""
    bands = (f'<path class="chart-band chart-{each.number}" d="{each.band}"/>' for each in chart.drawn if each.band)
    return "".join(bands), "".join(_curve(each, chart) for each in chart.drawn)


def _curve(drawn: Drawn, chart: LineChart) -> str:
    parts = []
    if drawn.path:
        parts.append(f'<path class="chart-line chart-{drawn.number}" d="{drawn.path}"/>')
    if drawn.points:
        parts.append(f'<path class="chart-dots chart-{drawn.number}" d="{drawn.points}"/>')
    if drawn.end:
        parts.append(
            f'<text class="chart-name chart-{drawn.number}" x="{chart.right + 8}" y="{_place(drawn.end.at)}" dy="4">'
            f"{escape(drawn.end.text)}</text>"
        )
    curve = "".join(parts)
    if not drawn.end:
        return curve
    # one of many that cross: charts.css dims the others while the pointer or the keyboard is on it
    name = escape(drawn.name)
    return f'<g class="chart-team" tabindex="0" role="img" aria-label="{name}"><title>{name}</title>{curve}</g>'


def _role(chart: LineChart | Histogram) -> str:
    """Return the role of the drawing: one picture, or a group of curves that the keyboard reaches."""
    return "group" if isinstance(chart, BumpChart) else "img"


def _bars(bars: Iterable[HistogramBar]) -> str:
    return "".join(
        f'<rect class="chart-bar" x="{_place(bar.x)}" y="{_place(bar.y)}" width="{_place(bar.width)}" '
        f'height="{_place(bar.height)}"><title>{escape(bar.words)}</title></rect>'
        for bar in bars
    )


def _place(value: float) -> str:
    """Return a coordinate with two decimals, halves rounded up."""
    return str(Decimal(repr(value)).quantize(_HUNDREDTH, ROUND_HALF_UP))
