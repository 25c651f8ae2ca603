"""Report of a benchmark: its page, a drawing and a table for each chart, and the table of all runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from evaluation.charts.chart_as_svg_file import svg_file
from evaluation.formats.curves.report.paper_figures import NORM_NAMES, Value, figures
from evaluation.formats.curves.report.robustbench_model_cards import model_cards
from evaluation.formats.curves.report.tables import run_table, table_3
from evaluation.formats.curves.results import Results
from evaluation.formats.curves.runner.benchmark_settings import BenchmarkSettings
from evaluation.formats.curves.scoring.suspicions import suspicions
from evaluation.formats.curves.threat_models import Norm
from evaluation.report.page import Context, render

_PACKAGE = "evaluation.formats.curves.report"


def write_report(
    results: Sequence[Results],
    context: Context,
    settings: BenchmarkSettings,
    warnings: Mapping[str, Sequence[str]],
    out: Path,
) -> None:
    """Write `index.html`, `runs.csv`, and `figures/` with an SVG and a CSV file for each chart.

    Beside them `model_info/` gets a card of RobustBench for each run of AutoAttack. `warnings` are those of AutoAttack
    about the models.
    """
    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for figure in [*figures(results), *figures(results, Value.SUCCESS)]:
        for chart in figure.charts:
            (folder / f"{chart.key}.svg").write_text(svg_file(chart), encoding="utf-8")
            (folder / f"{chart.key}.csv").write_text(chart.table.csv(), encoding="utf-8")
    for path, card in model_cards(results, warnings).items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    (out / "runs.csv").write_text(run_table(results).csv(), encoding="utf-8")
    (out / "index.html").write_text(report(results, context, settings, warnings), encoding="utf-8")


def report(
    results: Sequence[Results],
    context: Context,
    settings: BenchmarkSettings,
    warnings: Mapping[str, Sequence[str]],
) -> str:
    """Return the page of some results; `warnings` are those of AutoAttack about the models that it attacked."""
    models = list(dict.fromkeys(each.model for each in results))
    return render(
        _PACKAGE,
        "benchmark.html",
        context,
        _shown(settings, {each.threat_model.norm for each in results}),
        models=models,
        attacks=list(dict.fromkeys(each.attack for each in results)),
        tables=table_3(results),
        cards={model: suspicions([each for each in results if each.model == model]) for model in models},
        autoattack_warnings=warnings,
        figures=[*figures(results), *figures(results, Value.SUCCESS)],
        runs=run_table(results),
        names=NORM_NAMES,
    )


def _shown(settings: BenchmarkSettings, norms: Set[Norm]) -> dict[str, str]:
    """Return the settings beside the seed as texts, with the budgets of some norms."""

    def budgets(all_norms: Mapping[Norm, float]) -> str:
        return ", ".join(f"{NORM_NAMES[norm]} {budget:.4g}" for norm, budget in all_norms.items() if norm in norms)

    return {
        "batch": str(settings.batch),
        "query limit": str(settings.query_limit),
        "fixed budgets": budgets(settings.fixed_budgets),
        "first budgets": budgets(settings.first_budgets),
        "halvings": str(settings.halvings),
    }
