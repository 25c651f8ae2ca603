"""A chart as an SVG element. Coordinates are attributes; `charts.css` gives its classes colours and dashes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from html import escape

from evaluation.charts.bars import Bar, Histogram
from evaluation.charts.lines import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Drawn, Label, LineChart

_LEFT, _RIGHT, _TOP, _BOTTOM = (f"{place:g}" for place in (LEFT, RIGHT, TOP, BOTTOM))
_HUNDREDTH = Decimal("0.01")


def svg(chart: LineChart | Histogram) -> str:
    """Return the drawing with its title and description."""
    across, key = isinstance(chart, LineChart), escape(chart.key)
    axes = [
        f'<path class="chart-axis" d="M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}"/>',
        f'<text class="chart-name" x="{_LEFT}" y="12">{escape(chart.y_name)}</text>',
        f'<text class="chart-name" x="{_RIGHT}" y="244" text-anchor="end">{escape(chart.x_name)}</text>',
    ]
    drawing = [*axes, *_curves(chart.drawn)] if isinstance(chart, LineChart) else [_bars(chart.bars), *axes]
    lines = [
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" '
        f'aria-labelledby="{key}-title {key}-text" focusable="false">',
        f'  <title id="{key}-title">{escape(chart.title)}</title>',
        f'  <desc id="{key}-text">{escape(chart.description)}</desc>',
        f"  {_up(chart.y_ticks)}",
        f"  {_along(chart.x_ticks, _TOP if across else _BOTTOM)}",
        *(f"  {line}" for line in drawing),
        "</svg>",
    ]
    return "\n  ".join(lines)


def _up(ticks: Iterable[Label]) -> str:
    return "".join(
        f'<path class="chart-grid" d="M{_LEFT} {_place(tick.at)}H{_RIGHT}"/>'
        f'<text class="chart-tick" x="40" y="{_place(tick.at)}" dy="4" text-anchor="end">{escape(tick.text)}</text>'
        for tick in ticks
    )


def _along(ticks: Iterable[Label], top: str) -> str:
    return "".join(
        f'<path class="chart-grid" d="M{_place(tick.at)} {top}V211"/>'
        f'<text class="chart-tick" x="{_place(tick.at)}" y="225" text-anchor="middle">{escape(tick.text)}</text>'
        for tick in ticks
    )


def _curves(drawn: Sequence[Drawn]) -> tuple[str, str]:
    """Return the bands, and the curves above all of them."""
    bands = (f'<path class="chart-band chart-{each.number}" d="{each.band}"/>' for each in drawn if each.band)
    paths = (f'<path class="chart-line chart-{each.number}" d="{each.path}"/>' for each in drawn if each.path)
    return "".join(bands), "".join(paths)


def _bars(bars: Iterable[Bar]) -> str:
    return "".join(
        f'<rect class="chart-bar" x="{_place(bar.x)}" y="{_place(bar.y)}" width="{_place(bar.width)}" '
        f'height="{_place(bar.height)}"><title>{escape(bar.words)}</title></rect>'
        for bar in bars
    )


def _place(value: float) -> str:
    """Return a coordinate with two decimals, halves rounded up."""
    return str(Decimal(repr(value)).quantize(_HUNDREDTH, ROUND_HALF_UP))
