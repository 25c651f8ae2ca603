"""Distribution of values: a histogram over a linear axis from 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.charts.chart_table import ChartTable
from evaluation.charts.line_chart import BOTTOM, LEFT, RIGHT, TOP, Label
from evaluation.charts.scales import LinearScale, linear_to

BINS = 20


@dataclass(frozen=True)
class HistogramBar:
    """A bar of the histogram in units of the view box, and what it says."""

    x: float
    y: float
    width: float
    height: float
    words: str


@dataclass(frozen=True)
class Histogram:
    """Bars over the first two columns of a table, from and to, with the height in the third."""

    key: str
    title: str
    description: str
    table: ChartTable
    x: LinearScale
    y: LinearScale
    x_name: str
    y_name: str
    csv: str = ""

    @property
    def bars(self) -> Sequence[HistogramBar]:
        """The bars that are not empty."""
        found = []
        for start, end, count in self.table.rows:
            if isinstance(start, float) and isinstance(end, float) and isinstance(count, int) and count:
                left, right = (LEFT + (RIGHT - LEFT) * self.x.at(value) for value in (start, end))
                top = BOTTOM - (BOTTOM - TOP) * self.y.at(count)
                words = f"{start:,g} to {end:,g}: {count:,}"
                found.append(HistogramBar(left + 0.75, top, right - left - 1.5, BOTTOM - top, words))
        return found

    @property
    def x_ticks(self) -> Sequence[Label]:
        """The ticks from left to right."""
        return [Label(LEFT + (RIGHT - LEFT) * self.x.at(value), text) for value, text in self.x.ticks]

    @property
    def y_ticks(self) -> Sequence[Label]:
        """The ticks from bottom to top: whole numbers, as heights are counts."""
        whole = [(value, text) for value, text in self.y.ticks if value == round(value)]
        return [Label(BOTTOM - (BOTTOM - TOP) * self.y.at(value), text) for value, text in whole]


def histogram(key: str, title: str, description: str, values: Sequence[float], *, x_name: str, csv: str) -> Histogram:
    """Return the distribution of values, which are not negative, in `BINS` bins of equal width."""
    x = linear_to(max(values, default=1.0))
    ends = [float(f"{x.end * number / BINS:.6g}") for number in range(BINS + 1)]
    counts = [0] * BINS
    for value in values:
        inside = (number for number in range(BINS) if value < ends[number + 1])
        counts[next(inside, BINS - 1)] += 1
    table = ChartTable(("from", "to", "samples"), list(zip(ends, ends[1:], counts, strict=False)))
    y = linear_to(max(counts, default=1))
    return Histogram(key, title, description, table, x, y, x_name, "samples", csv)
