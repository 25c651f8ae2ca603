"""Tables of the benchmark: median distance and accuracy at the fixed budget (table 3), and what each run was."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.charts.chart_table import Cell, ChartTable
from evaluation.formats.curves.results import Results
from evaluation.formats.curves.scoring.curves import median_distance
from evaluation.formats.curves.scoring.suspicions import accuracy_at_fixed
from evaluation.formats.curves.threat_models import Goal, Norm


@dataclass(frozen=True)
class NormTable:
    """Table 3 for one goal and norm: a row for each attack, a column for each model."""

    goal: Goal
    norm: Norm
    budget: float
    table: ChartTable


def table_3(results: Sequence[Results]) -> list[NormTable]:
    """Return the median of the smallest distance, and the accuracy at the fixed budget, of each attack and model."""
    found = []
    for goal in Goal:
        for norm in Norm:
            threat = [each for each in results if (each.threat_model.goal, each.threat_model.norm) == (goal, norm)]
            if threat:
                found.append(NormTable(goal, norm, threat[0].fixed_budget, _table(threat)))
    return found


def run_table(results: Sequence[Results]) -> ChartTable:
    """Return a row for each run, with plain numbers."""
    columns = (
        "model", "attack", "knowledge", "goal", "capability", "norm", "images", "clean accuracy", "median distance",
        "fixed budget", "accuracy at it", "queries per image", "gradients per image",
    )  # fmt: skip
    return ChartTable(columns, [_row(each) for each in results])


def _row(each: Results) -> tuple[Cell, ...]:
    threat, median = each.threat_model, median_distance(each) if each.searched else math.inf
    return (
        each.model, each.attack, threat.knowledge.value, threat.goal.value, threat.capability.value, threat.norm.value,
        len(each.labels), round(float(each.right.mean()), 4), None if math.isinf(median) else round(median, 6),
        round(each.fixed_budget, 6), round(accuracy_at_fixed(each), 4),
        round(float(each.queries.mean()), 1), round(float(each.gradients.mean()), 1),
    )  # fmt: skip


def _table(results: Sequence[Results]) -> ChartTable:
    models = list(dict.fromkeys(each.model for each in results))
    attacks = list(dict.fromkeys((each.threat_model.knowledge, each.attack) for each in results))
    by_pair = {(each.attack, each.model): each for each in results}
    rows: list[tuple[Cell, ...]] = [("clean", *(_clean(results, model) for model in models))]
    for knowledge, attack in attacks:
        cells = [by_pair.get((attack, model)) for model in models]
        rows.append((f"{knowledge}: {attack}", *(_cell(each) for each in cells)))
    return ChartTable(("attack", *models), rows)


def _clean(results: Sequence[Results], model: str) -> str:
    return next(f"{100 * each.right.mean():.1f}" for each in results if each.model == model)


def _cell(each: Results | None) -> str | None:
    if each is None:
        return None
    median = median_distance(each)
    shown = "-" if not each.searched else "none" if math.isinf(median) else f"{median:.3f}"
    return f"{shown} / {100 * accuracy_at_fixed(each):.1f}"
