"""`gauntlet check`: the site's checks of a submission, run locally, with its whole output."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evaluation.builder.allowed_submission_files import IGNORED_NAMES, check_tree_size, ignored_by_git
from evaluation.builder.manifest import MANIFEST_NAME, read_manifest
from evaluation.cli.competition_option import add_competition
from evaluation.cli.format_commands import commands_of
from evaluation.cli.limit_table import exceeded, show_limits
from evaluation.cli.options import add_samples, add_sandbox, submission
from evaluation.cli.output import OUT, print_json, printable, say
from evaluation.cli.query_submission_check import LEAST_ACCURACY, OPPONENT
from evaluation.domain.limit_use import LimitUse
from evaluation.domain.smoke_test_result import SmokeTestResult, what_failed
from evaluation.formats.query.runner.smoke_test import SAMPLES
from evaluation.formats.registry import format_of_repository
from evaluation.formats.transfer.runner.smoke_test import SAMPLES as TRANSFER_SAMPLES

_MOST_NAMED = 5

_MARKS = {True: "[green]passed[/green]", False: "[red]FAILED[/red]", None: "[yellow]not reached[/yellow]"}


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "check", help="check a submission: manifest, build, smoke test on development images"
    )
    command.add_argument("directory", type=submission, metavar="DIR", help="the submission's repository")
    note = f", {TRANSFER_SAMPLES} in the transfer format"
    add_samples(command, split="dev", samples=SAMPLES, queries=1000, samples_note=note)
    add_competition(command)
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
    repository = check_tree_size(given.directory)
    _say_what_is_ignored(given.directory)
    if given.competition is None and (given.directory / MANIFEST_NAME).is_file() and _open_to_a_competition(given):
        given.competition = read_manifest(given.directory).competition or None
    smoke = commands_of(format_of_repository(given.directory).name).smoke_test(given)
    limits = (repository, *smoke.limits)
    over = exceeded(limits)
    if given.json:
        print_json(
            {
                "passed": smoke.passed and not over,
                "checks": [asdict(check) for check in smoke.checks],
                "limits": [asdict(limit) | {"room": limit.room} for limit in limits],
                "log": smoke.log,
            }
        )
    else:
        _show(smoke, limits)
    return 0 if smoke.passed and not over else 3


def _say_what_is_ignored(directory: Path) -> None:
    """Name what git leaves out of a push: a player in place reads these files, and on the site they are missing."""
    names = sorted(str(path) for path in ignored_by_git(directory) if path.name not in IGNORED_NAMES)
    if names:
        more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
        say(f"Ignored by git, so no part of the submission: {', '.join(names[:_MOST_NAMED])}{more}.")


def _open_to_a_competition(given: argparse.Namespace) -> bool:
    """Return whether the options leave rules and samples to the competition that the manifest names."""
    return given.budget is None and given.split is None and given.dataset is None


def _show(smoke: SmokeTestResult, limits: Sequence[LimitUse]) -> None:
    if smoke.log:
        OUT.rule("output")
        OUT.print(printable(smoke.log.rstrip()), markup=False, highlight=False)
        OUT.rule()
    for check in smoke.checks:
        OUT.print(f"{_MARKS[check.passed]}  {check.name}", end="" if check.passed is None else ": ")
        OUT.print("" if check.passed is None else printable(check.seen), markup=False, highlight=False)
    show_limits(limits)
    if smoke.passed:
        over = "; ".join(limit.name for limit in exceeded(limits))
        OUT.print(f"The site would stop it: over the limit: {over}" if over else "The site would accept it.")
        return
    problem, fixes = what_failed(smoke.checks)
    OUT.print(f"The site would reject it: {printable(problem)}", style="bold", markup=False, highlight=False)
    for fix in fixes:
        OUT.print(f"  fix: {printable(fix)}", markup=False, highlight=False)
