"""Charts: every plotted value equals the exported one."""

from __future__ import annotations

import csv
import io
import re

import pytest
from django.template.loader import render_to_string

from evaluation.charts.chart_table import ChartTable
from evaluation.charts.histogram import BINS, histogram
from evaluation.charts.line_chart import BOTTOM, LEFT, RIGHT, TOP, Curve, LineChart
from evaluation.charts.scales import LogScale, linear_to, shares

TABLE = ChartTable(
    ("distance", "first", "low", "high"), [(0.1, 0.0, 0.0, 0.1), (1.0, 0.25, 0.2, 0.5), (50.0, 1.0, 1.0, 1.0)]
)
PAIR = re.compile(r"(-?[\d.]+) (-?[\d.]+)")
STEP = re.compile(r"H([\d.]+)V([\d.]+)")


def chart(**changes: object) -> LineChart:
    values: dict[str, object] = {
        "key": "c",
        "title": "Title <1>",
        "description": "What it says",
        "table": TABLE,
        "lines": [Curve("first", 1, band=(2, 3))],
        "x": LogScale(0.1, 50.0),
        "y": shares(),
        "x_name": "distance",
        "y_name": "share",
        "csv": "/a.csv",
    }
    return LineChart(**(values | changes))  # type: ignore[arg-type]


def share_of(y: str) -> float:
    """Read a share back from a place in the drawing."""
    return (BOTTOM - float(y)) / (BOTTOM - TOP)


def distance_of(x: str) -> float:
    """Read a distance back from a place on the logarithmic axis."""
    return float(0.1 * 500 ** ((float(x) - LEFT) / (RIGHT - LEFT)))


@pytest.mark.parametrize("steps", [False, True])
def test_every_plotted_value_is_in_the_csv_file(steps: bool) -> None:
    drawn = chart(steps=steps).drawn[0]
    places = PAIR.findall(drawn.path) + STEP.findall(drawn.path)
    exported = list(csv.DictReader(io.StringIO(TABLE.csv())))
    assert len(places) == len(exported)
    for (x, y), row in zip(places, exported, strict=True):
        assert distance_of(x) == pytest.approx(float(row["distance"]), rel=2e-4)
        assert share_of(y) == pytest.approx(float(row["first"]), abs=1e-4)


def test_a_band_goes_forth_along_its_lower_end_and_back_along_the_upper() -> None:
    ends = [share_of(y) for _, y in PAIR.findall(chart().drawn[0].band)]
    assert ends == pytest.approx([0, 0.2, 1, 1, 0.5, 0.1], abs=1e-4)


def test_a_curve_omits_empty_cells() -> None:
    table = ChartTable(("x", "y"), [(0.1, 0.5), (1.0, None), (50.0, 1.0)])
    assert len(PAIR.findall(chart(table=table, lines=[Curve("y", 1)]).drawn[0].path)) == 2
    assert chart(table=ChartTable(("x", "y"), [(1.0, None)]), lines=[Curve("y", 1)]).drawn[0].path == ""


def test_it_has_a_title_a_description_a_table_and_no_inline_style() -> None:
    html = render_to_string("pages/charts/lines.html", {"chart": chart()})
    assert '<title id="c-title">Title &lt;1&gt;</title>' in html
    assert '<desc id="c-text">What it says</desc>' in html
    assert 'aria-labelledby="c-title c-text"' in html
    assert "<td" in html
    assert '<a href="/a.csv" download>' in html
    assert ">SVG<" not in html
    drawn = render_to_string("pages/charts/lines.html", {"chart": chart(svg="/a.svg")})
    assert '<a href="/a.svg" download>' in drawn
    assert "style=" not in html


def test_a_key_names_the_curves_only_if_there_are_several() -> None:
    assert "chart-key" not in render_to_string("pages/charts/lines.html", {"chart": chart()})
    two = chart(lines=[Curve("first", 1), Curve("low", 2)])
    assert "chart-key" in render_to_string("pages/charts/lines.html", {"chart": two})


@pytest.mark.parametrize(("start", "end"), [(0.1, 70.0), (1.0, 1000.0), (1.0, 300.0), (0.01, 10_000.0), (1.0, 2.0)])
def test_a_logarithmic_axis_has_two_to_eight_ticks_inside(start: float, end: float) -> None:
    ticks = LogScale(start, end).ticks
    assert 2 <= len(ticks) <= 8
    assert all(start <= value <= end for value, _ in ticks)
    assert LogScale(start, end).at(start / 2) == 0
    assert LogScale(start, end).at(end) == 1


def test_a_histogram_counts_every_value_once_in_its_bin() -> None:
    values = [0.0, 0.1, 4.9, 5.0, 10.0]
    drawn = histogram("h", "T", "D", values, x_name="distance", csv="")
    assert len(drawn.table.rows) == BINS
    assert sum(int(str(count)) for _, _, count in drawn.table.rows) == len(values)
    for bar, (start, end, count) in zip(drawn.bars, [row for row in drawn.table.rows if row[2]], strict=True):
        assert bar.words == f"{start:g} to {end:g}: {count}"
        assert linear_to(drawn.y.end).at((BOTTOM - bar.y) / (BOTTOM - TOP) * drawn.y.end) == pytest.approx(
            drawn.y.at(float(str(count))), abs=1e-9
        )


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_a_line_break_splits_no_row_of_a_csv_file(end: str) -> None:
    table = ChartTable(("title", "score"), [(f"one{end}two", 1), (f"{end}=1", 2)])
    rows = list(csv.reader(io.StringIO(table.csv(), newline="")))
    assert rows == [["title", "score"], ["one\ntwo", "1"], ["'\n=1", "2"]]


def test_a_csv_file_has_no_formulas() -> None:
    cells = ["=1+1", "+1", "-1", "@a", "\ta", "a=1", "", None, -1, -0.5]
    table = ChartTable(["=column", "value"], [[cell, 1] for cell in cells])
    rows = list(csv.reader(io.StringIO(table.csv(), newline="")))
    assert [row[0] for row in rows] == [
        "'=column", "'=1+1", "'+1", "'-1", "'@a", "'\ta", "a=1", "", "", "-1", "-0.5",
    ]  # fmt: skip
