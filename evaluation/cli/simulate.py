"""`gauntlet simulate`: what the schedules of a round cost and find, in simulated tournaments."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from typing import Any

from evaluation.cli.options import positive
from evaluation.cli.output import print_json, print_table, progress_bar
from evaluation.tournament.simulation import REGIMES, Finding, averages, simulate

_COLUMNS = (
    "schedule",
    "GPU-days",
    "recall models",
    "recall attacks",
    "rank 1 models",
    "rank 1 attacks",
    "loss % models",
    "loss % attacks",
)


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "simulate", help="compare what the schedules of a round cost and find"
    )
    command.add_argument(
        "--tournaments", type=positive, default=20, metavar="N", help="tournaments in each regime (default 20)"
    )
    command.add_argument(
        "--regimes", type=_regimes, default=tuple(REGIMES), metavar="A,B", help=f"of {', '.join(REGIMES)} (default all)"
    )
    command.add_argument("--jobs", type=positive, default=os.cpu_count() or 1, metavar="N", help="processes at a time")
    command.add_argument("--seed", type=_seed, default=7, help="repeats the tournaments exactly (default 7)")
    command.add_argument("--per-regime", action="store_true", help="add the lines of each regime")
    command.add_argument("--json", action="store_true", help="print the lines as JSON")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    with progress_bar(len(given.regimes) * given.tournaments, "tournaments") as bar:
        findings = simulate(
            given.regimes, given.tournaments, jobs=given.jobs, seed=given.seed, on_tournament=lambda: bar.step()
        )
    tables = {"all regimes": averages(findings)}
    if given.per_regime:
        tables |= {f"regime {regime}": averages(findings, regime) for regime in given.regimes}
    if given.json:
        print_json([asdict(row) for rows in tables.values() for row in rows])
        return 0
    for title, rows in tables.items():
        print_table(f"{title}, {given.tournaments} tournaments each", _COLUMNS, [_cells(row) for row in rows], text=[0])
    return 0


def _cells(row: Finding) -> tuple[str, ...]:
    return (
        row.schedule,
        f"{row.gpu_days:.1f}",
        f"{row.recall_models:.3f}",
        f"{row.recall_attacks:.3f}",
        f"{row.rank1_models:.2f}",
        f"{row.rank1_attacks:.2f}",
        f"{row.loss_models:.2f}",
        f"{row.loss_attacks:.2f}",
    )


def _regimes(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in REGIMES:
            raise argparse.ArgumentTypeError(f"there is no regime {name!r}: choose from {', '.join(REGIMES)}")
    return names


def _seed(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number
