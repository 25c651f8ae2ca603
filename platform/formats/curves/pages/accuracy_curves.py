"""Curves of models and attacks: accuracy by budget, and by queries at the fixed budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluation.charts.chart_table import ChartTable
from evaluation.charts.line_chart import Curve, LineChart
from evaluation.charts.scales import LinearScale, LogScale, linear_to, shares
from evaluation.formats.curves.threat_models import Knowledge
from formats.curves.threat_model_boards import ThreatModelOfBoard

BUDGETS, QUERIES = "budgets", "queries"
"""Keys of the charts."""


def by_budget(
    columns: Mapping[str, Sequence[float]], budgets: Sequence[float], threat: ThreatModelOfBoard, csv: str = "",
    *, key: str = BUDGETS, title: str = "",
) -> LineChart | None:  # fmt: skip
    """Return the accuracy within each budget, a curve for each name; None without any."""
    if not columns:
        return None
    rows = [(budget, *(_rounded(curve[number]) for curve in columns.values())) for number, budget in enumerate(budgets)]
    return LineChart(
        key=key,
        title=title or "Accuracy by budget",
        description=(
            "Share of images that are right although an attack may change them by at most the budget. The "
            f"leaderboard compares at {threat.budget:,g}."
        ),
        table=ChartTable(("budget", *columns), rows),
        lines=[Curve(name, number) for number, name in enumerate(columns, start=1)],
        x=_budget_axis(budgets[-1]),
        y=shares(),
        x_name="budget",
        y_name="accuracy",
        steps=False,
        csv=csv,
    )


def by_queries(
    columns: Mapping[str, Mapping[int, float]], threat: ThreatModelOfBoard, *, key: str = QUERIES
) -> LineChart | None:
    """Return the accuracy at the fixed budget after a number of queries, a curve for each name; None without any.

    For white-box attacks it is the accuracy after a number of iterations.
    """
    counts = sorted({count for curve in columns.values() for count in curve if count})
    if not counts:
        return None
    rows = [
        (count, *(_rounded(curve[count]) if count in curve else None for curve in columns.values())) for count in counts
    ]
    iterates = threat.knowledge == Knowledge.WHITE_BOX
    title = f"Accuracy by queries, at budget {threat.budget:,g}"
    description = "Share of images that are right after an attack has asked for so many answers for each."
    if iterates:
        title = f"Accuracy by iterations, at budget {threat.budget:,g}"
        description = "Share of images that are right after so many iterations of an attack."
    spent = "iterations" if iterates else "queries"
    return LineChart(
        key=key,
        title=title,
        description=description,
        table=ChartTable((spent, *columns), rows),
        lines=[Curve(name, number) for number, name in enumerate(columns, start=1)],
        x=LogScale(1.0, float(max(counts[-1], 2))),
        y=shares(),
        x_name=spent,
        y_name="accuracy",
    )


def _budget_axis(largest: float) -> LinearScale:
    axis = linear_to(largest)
    return LinearScale(0.0, largest, [tick for tick in axis.ticks if tick[0] <= largest])


def _rounded(value: float) -> float:
    return round(value, 4)
