"""The page: one HTML file without scripts, with style sheet, drawings and pictures inside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evaluation import __version__
from evaluation.charts.drawing import svg
from evaluation.charts.lines import LineChart
from evaluation.charts.pictures import AMPLIFICATIONS, USUAL_AMPLIFICATION
from evaluation.charts.table import Cell, Table
from evaluation.domain.results import MatchResult
from evaluation.domain.samples import Sample
from evaluation.report import gallery, match, tournament
from evaluation.runner.artefacts import median_distance
from evaluation.tournament.leaderboards import boards

_STYLE_SHEETS = (("evaluation.report", "report.css"), ("evaluation.charts", "static/charts.css"))


@dataclass(frozen=True)
class Context:
    """How the results came about: names of the classes, the samples, the seed, and the command as it was given."""

    samples: Sequence[Sample]
    class_names: Sequence[str]
    dataset: str
    seed: int
    command: str


def of_match(result: MatchResult, context: Context) -> str:
    """Return the report of a match."""
    return _render(
        "match.html",
        context,
        result=result,
        charts=match.charts(result, context.samples),
        median=median_distance(result),
        facts=match.facts(result),
        items=gallery.of_match(result, context.samples, context.class_names),
        table=match.table(result),
        rules=_rules(result),
    )


def of_tournament(results: Sequence[MatchResult], context: Context) -> str:
    """Return the report of a tournament."""
    return _render(
        "tournament.html",
        context,
        results=results,
        boards=boards(results),
        titles=tournament.TITLES,
        heat_maps=tournament.heat_maps(results),
        charts=tournament.charts(results, context.samples),
        items=gallery.of_tournament(results, context.samples, context.class_names),
        table=tournament.table(results),
        rules=_rules(results[0]),
    )


def _rules(result: MatchResult) -> Mapping[str, str]:
    """Return the rules by name, as `result.json` has them."""
    plain = result.rules.as_dict()
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in plain.items()}


def _render(template: str, context: Context, **values: Any) -> str:
    environment = Environment(
        loader=PackageLoader("evaluation.report"),
        autoescape=True,  # names and failure texts come from participants
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["svg"] = lambda chart: Markup(svg(chart))  # noqa: S704 (the drawing escapes its texts)
    environment.filters["cell"] = _cell
    environment.filters["ends"] = _ends
    environment.tests["lines"] = lambda chart: isinstance(chart, LineChart)
    style = "".join(files(package).joinpath(name).read_text(encoding="utf-8") for package, name in _STYLE_SHEETS)
    return environment.get_template(template).render(
        context=context,
        style=Markup(style),  # noqa: S704 (files of this package)
        factors=AMPLIFICATIONS,
        usual_factor=USUAL_AMPLIFICATION,
        most=gallery.MOST,
        version=__version__,
        **values,
    )


def _cell(value: Cell) -> str:
    """Format a cell of a table: an empty one as a dash, a number with six digits."""
    if value is None:
        return "\N{EN DASH}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _ends(table: Table) -> list[str]:
    """Return the class of each column: numbers are aligned at their end."""
    return ["" if any(isinstance(cell, str) for cell in table.column(n)) else "end" for n in range(len(table.columns))]
