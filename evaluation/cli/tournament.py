"""`gauntlet tournament`: all given attacks against all given models, or defences."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from evaluation.cli.format_commands import add_format, commands_of
from evaluation.cli.options import add_samples, add_sandbox, submission
from evaluation.cli.positive_number import positive
from evaluation.cli.report_option import add_report


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "tournament", help="play all attacks against all models and print the leaderboards"
    )
    text = "repositories of models and attacks, or names of bundled ones"
    command.add_argument("players", nargs="+", type=submission, metavar="DIR", help=text)
    add_samples(command, split="validation", samples=20, queries=1000)
    add_sandbox(command)
    command.add_argument("--workers", type=positive, default=os.cpu_count() or 1, help="number of parallel matches")
    command.add_argument("--out", type=Path, metavar="DIR", help="write the results of each match to DIR")
    add_report(command)
    command.add_argument("--json", action="store_true", help="print the leaderboards as JSON")
    add_format(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    return commands_of(given.format).tournament(given)
