"""Figures of the report as files of their own."""

from __future__ import annotations

from xml.etree import ElementTree

from evaluation.charts.chart_as_svg_file import svg_file
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.line_chart import Curve, LineChart
from evaluation.charts.scales import linear_to, shares
from evaluation.formats.curves.report.paper_figures import CurveAxis, Value, charts_of
from evaluation.formats.curves.threat_models import Knowledge
from tests.evaluation.formats.curves.results_of import results_of

TEXT = "{http://www.w3.org/2000/svg}text"


def test_a_file_is_xml_with_title_and_key_and_needs_no_style_sheet() -> None:
    names = ("a & b", "<c>")
    table = ChartTable(("budget", *names), [(0.0, 1.0, 0.5), (1.0, 0.0, 0.0)])
    lines = [Curve(name, column) for column, name in enumerate(names, start=1)]
    chart = LineChart("k", "FGSM", "Accuracy.", table, lines, linear_to(1.0), shares(), "budget", "accuracy")
    content = svg_file(chart)
    texts = [each.text for each in ElementTree.fromstring(content).iter(TEXT)]  # noqa: S314 (written above)
    assert "FGSM" in texts
    assert texts[-2:] == list(names)
    assert "var(" not in content
    assert "light-dark" not in content


def test_an_axis_of_strength_says_what_is_counted() -> None:
    found = [results_of([0.1]), results_of([0.1], attack="square", knowledge=Knowledge.SCORE)]
    found.append(results_of([0.1], attack="autoattack"))
    charts = [chart for each in found for chart in charts_of([each], CurveAxis.STRENGTH, Value.ACCURACY)]
    assert [chart.x_name for chart in charts] == ["iterations", "queries", "attacks"]
    assert [chart.table.columns[0] for chart in charts] == ["iterations", "queries", "attacks"]
