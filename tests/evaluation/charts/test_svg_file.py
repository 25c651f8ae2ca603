"""A chart as a file of its own."""

from __future__ import annotations

import re

from evaluation.charts.chart_as_svg_file import svg_file
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.line_chart import COLOURS, Curve, LineChart
from evaluation.charts.scales import LogScale, linear_to


def test_as_many_curves_as_a_chart_may_have_can_be_told_apart() -> None:
    names = [f"attack {number}" for number in range(COLOURS)]
    chart = LineChart(
        key="many",
        title="Many",
        description="",
        table=ChartTable(("queries", *names), [(count, *(count for _ in names)) for count in (1, 10)]),
        lines=[Curve(name, number) for number, name in enumerate(names, start=1)],
        x=LogScale(1.0, 10.0),
        y=linear_to(10.0),
        x_name="queries",
        y_name="distance",
    )
    drawn = svg_file(chart)
    styles = {re.search(rf"\.chart-{number} (\{{[^}}]*\}})", drawn)[1] for number in range(1, COLOURS + 1)}  # type: ignore[index]
    assert len(styles) == COLOURS
    assert all(f">{name}<" in drawn for name in names)
