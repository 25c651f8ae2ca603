"""`gauntlet simulate`: costs and results of a round's schedules in simulated tournaments."""

from __future__ import annotations

import argparse
import os
from typing import Any

from evaluation.cli.output import OUT, print_json, print_table, progress_bar
from evaluation.cli.positive_number import not_negative, positive
from evaluation.formats.query.tournament.simulated_players import REGIMES
from evaluation.formats.query.tournament.simulation import SAMPLES, TRUTH_SAMPLES, simulate
from evaluation.formats.query.tournament.simulation_estimates import (
    MeanEstimate,
    ScheduleEstimate,
    averages,
    differences,
)

_MEASURED = {
    "recall": "five found",
    "rank1": "first is first",
    "reaches": "first reaches end",
    "loss": "loss, %",
    "agreement": "agreement",
}
_COLUMNS = ("schedule", "GPU-days", *_MEASURED.values())
_LOOPS = ("schedule", "ends in a loop", "sets in the loop", "models that count", "attacks that count")
_OF_LOOPS = ("loop", "loop_size", "counting_models", "counting_attacks")

_NOTES = f"""\
Five found: the share of the true five, measured on {TRUTH_SAMPLES:,} new samples of the same players, all against all.
The line `truth-again` is a second such measurement: no schedule can find more. First is first, or reaches the end: how
often the true first is found, and how often it plays in the last stage.
Loss: by how many per cent the five found are worse than the true five (geometric mean of true scores). Agreement:
the share found of the five of a full tournament (all against all) on the same {SAMPLES} samples. In brackets: standard
errors over tournaments. Differences are paired: use them, not the errors of two lines, to compare schedules.
Loops: how often the selection of those who count ends in a loop of sets instead of one set, and how many players count.
"""


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "simulate", help="compare costs and results of a round's schedules"
    )
    command.add_argument(
        "--tournaments", type=positive, default=20, metavar="N", help="tournaments in each regime (default 20)"
    )
    command.add_argument(
        "--regimes", type=_regimes, default=tuple(REGIMES), metavar="A,B", help=f"of {', '.join(REGIMES)} (default all)"
    )
    command.add_argument(
        "--jobs", type=positive, default=os.cpu_count() or 1, metavar="N", help="number of parallel processes"
    )
    command.add_argument(
        "--seed", type=not_negative, default=7, help="seed that makes the tournaments repeatable (default 7)"
    )
    command.add_argument("--per-regime", action="store_true", help="add the lines of each regime")
    command.add_argument("--json", action="store_true", help="print the lines as JSON")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    with progress_bar(len(given.regimes) * given.tournaments, "tournaments") as bar:
        findings = simulate(
            given.regimes, given.tournaments, jobs=given.jobs, seed=given.seed, on_tournament=lambda: bar.step()
        )
    whole = "all regimes" if set(given.regimes) == set(REGIMES) else f"regimes {', '.join(given.regimes)}"
    groups = {whole: None} | ({name: name for name in given.regimes} if given.per_regime else {})
    lines = {title: (averages(findings, name), differences(findings, name)) for title, name in groups.items()}
    if given.json:
        print_json([_flat(line) for both in lines.values() for part in both for line in part])
        return 0
    count = "1 tournament" if given.tournaments == 1 else f"{given.tournaments} tournaments"
    for title, (means, compared) in lines.items():
        for side in ("models", "attacks"):
            heading = f"{title}, {count} each: {side}"
            print_table(heading, _COLUMNS, [_cells(line, side, ".3f") for line in means], text=[0])
            print_table(f"{heading}, difference", _COLUMNS, [_cells(line, side, "+.3f") for line in compared], text=[0])
        print_table(f"{title}: loops of the five best", _LOOPS, [_loops(line) for line in means], text=[0])
    OUT.print(_NOTES, markup=False, highlight=False)
    return 0


def _flat(line: ScheduleEstimate) -> dict[str, Any]:
    """Return the means by name, and each standard error as `<name>_error`."""
    numbers = {name: estimate.mean for name, estimate in line.estimates.items()}
    errors = {f"{name}_error": estimate.error for name, estimate in line.estimates.items()}
    return {"regime": line.regime, "schedule": line.schedule, **numbers, **errors}


def _cells(line: ScheduleEstimate, side: str, form: str) -> tuple[str, ...]:
    measured = (f"{name}_{side}" for name in _MEASURED)
    days = f"{line.estimates['gpu_days'].mean:{form.replace('3', '1')}}"
    return (line.schedule, days, *(_with_error(line.estimates[name], form) for name in measured))


def _loops(line: ScheduleEstimate) -> tuple[str, ...]:
    return (line.schedule, *(_with_error(line.estimates[name], ".3f") for name in _OF_LOOPS))


def _with_error(estimate: MeanEstimate, form: str) -> str:
    error = "" if estimate.error is None else f" ({estimate.error:.3f})"
    return f"{estimate.mean:{form}}{error}"


def _regimes(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in REGIMES:
            raise argparse.ArgumentTypeError(f"unknown regime {name!r}: choose from {', '.join(REGIMES)}")
    return names
