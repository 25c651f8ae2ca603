"""`gauntlet check`: the site's checks of a submission, run locally, with its whole output."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from evaluation.builder.source_tree import check_tree_size
from evaluation.cli.format_commands import commands_of
from evaluation.cli.options import add_samples, add_sandbox, submission
from evaluation.cli.output import OUT, print_json, printable
from evaluation.cli.query_check import LEAST_ACCURACY, OPPONENT
from evaluation.domain.smoke_checks import SmokeTestResult, what_failed
from evaluation.formats.query.runner.smoke_test import SAMPLES
from evaluation.formats.registry import format_of_repository
from evaluation.formats.transfer.runner.smoke_test import SAMPLES as TRANSFER_SAMPLES

_MARKS = {True: "[green]passed[/green]", False: "[red]FAILED[/red]", None: "[yellow]not reached[/yellow]"}


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "check", help="check a submission: manifest, build, smoke test on development images"
    )
    command.add_argument("directory", type=submission, metavar="DIR")
    note = f", {TRANSFER_SAMPLES} in the transfer format"
    add_samples(command, split="dev", samples=SAMPLES, queries=1000, samples_note=note)
    add_sandbox(command)
    command.add_argument(
        "--least-accuracy",
        type=float,
        help=f"required clean accuracy (default {LEAST_ACCURACY} of a model; none of a defence, as in 2017)",
    )
    command.add_argument(
        "--model",
        type=submission,
        metavar="DIR",
        help=f"opponent model of an attack (default {OPPONENT} for digits, else a nearest-mean model of the split)",
    )
    command.add_argument("--json", action="store_true", help="print the checks as JSON")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    check_tree_size(given.directory)
    smoke = commands_of(format_of_repository(given.directory).name).smoke_test(given)
    if given.json:
        print_json(
            {
                "passed": smoke.passed,
                "checks": [asdict(check) for check in smoke.checks],
                "log": smoke.log,
            }
        )
    else:
        _show(smoke)
    return 0 if smoke.passed else 3


def _show(smoke: SmokeTestResult) -> None:
    if smoke.log:
        OUT.rule("output")
        OUT.print(printable(smoke.log.rstrip()), markup=False, highlight=False)
        OUT.rule()
    for check in smoke.checks:
        OUT.print(f"{_MARKS[check.passed]}  {check.name}", end="" if check.passed is None else ": ")
        OUT.print("" if check.passed is None else printable(check.seen), markup=False, highlight=False)
    if smoke.passed:
        OUT.print("The site would accept it.")
        return
    problem, fixes = what_failed(smoke.checks)
    OUT.print(f"The site would reject it: {printable(problem)}", style="bold", markup=False, highlight=False)
    for fix in fixes:
        OUT.print(f"  fix: {printable(fix)}", markup=False, highlight=False)
