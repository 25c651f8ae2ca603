"""The page: one HTML file without scripts, with style sheet, drawings and pictures inside."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evaluation import __version__
from evaluation.charts.chart_as_svg import svg
from evaluation.charts.chart_as_svg_file import svg_file
from evaluation.charts.chart_table import Cell, ChartTable
from evaluation.charts.line_chart import LineChart
from evaluation.charts.sample_pictures import AMPLIFICATIONS, USUAL_AMPLIFICATION
from evaluation.domain.samples import Sample
from evaluation.report.pictures import MOST

_STYLE_SHEETS = (("evaluation.report", "report.css"), ("evaluation.charts", "static/charts.css"))


@dataclass(frozen=True)
class Context:
    """How the results came about: names of the classes, the samples, the seed, and the command as it was given."""

    samples: Sequence[Sample]
    class_names: Sequence[str]
    dataset: str
    seed: int
    command: str


def render(package: str, template: str, context: Context, rules: Mapping[str, Any], **values: Any) -> str:
    """Return a template of `package`, of a format's reports, as a page; `rules` are those of `result.json`."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("evaluation.report")]),
        autoescape=True,  # names and failure texts come from participants
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["svg"] = lambda chart: Markup(svg(chart))  # noqa: S704 (the drawing escapes its texts)
    environment.filters["svg_address"] = lambda chart: _address("image/svg+xml", svg_file(chart))
    environment.filters["csv_address"] = lambda table: _address("text/csv", table.csv())
    environment.filters["cell"] = _cell
    environment.filters["ends"] = _ends
    environment.tests["lines"] = lambda chart: isinstance(chart, LineChart)
    style = "".join(files(package).joinpath(name).read_text(encoding="utf-8") for package, name in _STYLE_SHEETS)
    return environment.get_template(template).render(
        context=context,
        style=Markup(style),  # noqa: S704 (files of this package)
        factors=AMPLIFICATIONS,
        usual_factor=USUAL_AMPLIFICATION,
        most=MOST,
        rules={name: value if isinstance(value, str) else json.dumps(value) for name, value in rules.items()},
        version=__version__,
        **values,
    )


def _address(kind: str, content: str) -> str:
    """Return a file as an address that holds it: the page is one file."""
    return f"data:{kind};charset=utf-8;base64,{base64.b64encode(content.encode('utf-8', errors='replace')).decode()}"


def _cell(value: Cell) -> str:
    """Format a cell of a table: an empty one as a dash, a number with six digits."""
    if value is None:
        return "\N{EN DASH}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _ends(table: ChartTable) -> list[str]:
    """Return the class of each column: numbers are aligned at their end."""
    return ["" if any(isinstance(cell, str) for cell in table.column(n)) else "end" for n in range(len(table.columns))]
