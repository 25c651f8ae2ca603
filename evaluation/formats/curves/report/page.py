"""Report of a benchmark: tables, suspicions and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.formats.curves.report.figures import NORM_NAMES, Value, figures
from evaluation.formats.curves.report.tables import run_table, table_3
from evaluation.formats.curves.results import Results
from evaluation.formats.curves.scoring.suspicions import suspicions
from evaluation.report.page import Context, render

_PACKAGE = "evaluation.formats.curves.report"


def report(
    results: Sequence[Results],
    context: Context,
    settings: dict[str, Any],
    warnings: Mapping[str, Sequence[str]],
) -> str:
    """Return the page of some results; `settings` are shown as they are.

    `warnings` are those of AutoAttack about the models that it attacked.
    """
    models = list(dict.fromkeys(each.model for each in results))
    return render(
        _PACKAGE,
        "benchmark.html",
        context,
        settings,
        models=models,
        attacks=list(dict.fromkeys(each.attack for each in results)),
        tables=table_3(results),
        cards={model: suspicions([each for each in results if each.model == model]) for model in models},
        autoattack_warnings=warnings,
        figures=[*figures(results), *figures(results, Value.SUCCESS)],
        runs=run_table(results),
        names=NORM_NAMES,
    )
