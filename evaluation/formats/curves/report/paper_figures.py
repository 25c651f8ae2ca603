"""The figures of the benchmark: accuracy or success rate, by budget or by strength (Dong et al. 2020, figures 1 to 12).

One panel for each attack, with a line for each model; or, to compare attacks, one for each model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from evaluation.charts.chart_table import ChartTable
from evaluation.charts.line_chart import COLOURS, Curve, LineChart
from evaluation.charts.scales import LogScale, Scale, linear_to, shares
from evaluation.formats.curves.results import Floats, Results
from evaluation.formats.curves.scoring.curves import (
    accuracy_by_budget,
    accuracy_by_strength,
    success_by_budget,
    success_by_strength,
)
from evaluation.formats.curves.scoring.suspicions import AUTOATTACK
from evaluation.formats.curves.threat_models import Goal, Knowledge, Norm

POINTS = 60
"""Budgets of a curve."""
NORM_NAMES = {Norm.LINF: "L\N{INFINITY}", Norm.L2: "L2", Norm.NORMALISED_L2: "normalised L2"}


class CurveAxis(StrEnum):
    """The axis of a figure."""

    BUDGET = "budget"
    STRENGTH = "strength"


class Value(StrEnum):
    """What a figure shows."""

    ACCURACY = "accuracy"
    SUCCESS = "success rate"


@dataclass(frozen=True)
class Figure:
    """A figure: its axes, and a chart for each attack."""

    goal: Goal
    norm: Norm
    knowledge: Knowledge
    curve: CurveAxis
    value: Value
    charts: Sequence[LineChart]

    @property
    def title(self) -> str:
        """The title."""
        return f"{self.value.capitalize()} by {self.curve}: {self.knowledge}, {self.goal}, {NORM_NAMES[self.norm]}"


def figures(results: Sequence[Results], value: Value = Value.ACCURACY) -> list[Figure]:
    """Return all figures that can be made of some results, in the order of the paper."""
    found = []
    for knowledge in Knowledge:
        for goal in Goal:
            for norm in Norm:
                for curve in CurveAxis:
                    threat = [each for each in results if _is_of(each, goal, norm, knowledge)]
                    charts = [
                        chart
                        for attack in dict.fromkeys(each.attack for each in threat)
                        for chart in charts_of([each for each in threat if each.attack == attack], curve, value)
                    ]
                    if charts:
                        found.append(Figure(goal, norm, knowledge, curve, value, charts))
    return found


def charts_of(results: Sequence[Results], curve: CurveAxis, value: Value) -> list[LineChart]:
    """Return charts of an attack with a line for each model, as many to a chart as can be told apart."""
    by_budget = curve is CurveAxis.BUDGET
    shown = [each for each in results if (each.searched if by_budget else len(each.strengths) > 1)]
    return [_chart(shown[at : at + COLOURS], curve, value, at) for at in range(0, len(shown), COLOURS)]


def _chart(results: Sequence[Results], curve: CurveAxis, value: Value, at: int) -> LineChart:
    first = results[0]
    threat = first.threat_model
    key = "-".join([first.attack, threat.goal, threat.norm, curve, value.split()[0], str(at)])
    if curve is CurveAxis.BUDGET:
        end = _last_budget(results)
        places = np.linspace(0.0, end, POINTS + 1)
        by_budget = accuracy_by_budget if value is Value.ACCURACY else success_by_budget
        columns = [by_budget(each, places) for each in results]
        scale: Scale = linear_to(end)
        x_name = f"budget, {NORM_NAMES[threat.norm]}"
    else:
        places = results[0].strengths.astype(np.float64)
        by_strength = accuracy_by_strength if value is Value.ACCURACY else success_by_strength
        columns = [by_strength(each) for each in results]
        scale = LogScale(max(1.0, float(places[0])), float(places[-1]))
        x_name = _strength_name(first)
    rows = [(float(place), *(round(float(column[row]), 4) for column in columns)) for row, place in enumerate(places)]
    names = [each.model for each in results]
    return LineChart(
        key=key,
        title=first.attack,
        description=f"{value.capitalize()} by {curve}; {threat}."
        + ("" if curve is CurveAxis.BUDGET else f" Budget {first.fixed_budget:.4g}."),
        table=ChartTable((x_name, *names), rows),
        lines=[Curve(each, column) for column, each in enumerate(names, start=1)],
        x=scale,
        y=shares(),
        x_name=x_name,
        y_name=value,
        steps=curve is CurveAxis.STRENGTH,
    )


def _strength_name(results: Results) -> str:
    """Return what the strengths of an attack are numbers of."""
    if results.attack == AUTOATTACK:
        return "attacks"
    return "queries" if results.threat_model.knowledge in (Knowledge.SCORE, Knowledge.DECISION) else "iterations"


def _last_budget(results: Sequence[Results]) -> float:
    """Return a budget beyond which little happens: four times the fixed one, or the 90th percentile of distances."""
    found: Floats = np.concatenate([each.distances for each in results])
    finite = found[np.isfinite(found)]
    return max(4 * results[0].fixed_budget, float(np.quantile(finite, 0.9)) if len(finite) else 0.0)


def _is_of(results: Results, goal: Goal, norm: Norm, knowledge: Knowledge) -> bool:
    threat = results.threat_model
    return (threat.goal, threat.norm, threat.knowledge) == (goal, norm, knowledge)
