"""`gauntlet play`: one attack against one model, or one defence."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from evaluation.cli.competition_option import add_competition, given_competition
from evaluation.cli.format_commands import add_format, commands_of
from evaluation.cli.options import add_samples, add_sandbox, sizes, submission
from evaluation.cli.report_option import add_report


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser("play", help="play one attack against one model")
    for side, other in (("model", ["--defence"]), ("attack", [])):
        text = f"the {side}'s repository, or the name of a bundled one"
        command.add_argument(f"--{side}", *other, type=submission, required=True, metavar="DIR", help=text)
    command.add_argument(
        "--track", choices=("untargeted", "targeted"), help="refuse an attack of another track (query format)"
    )
    add_samples(command, split="validation", samples=None, queries=1000)
    add_competition(command)
    command.add_argument(
        "--pieces",
        type=sizes,
        default=(),
        metavar="SIZES",
        help="samples in each piece, such as 8,8,4: a piece has its own random numbers (default 10 in each)",
    )
    add_sandbox(command)
    command.add_argument("--out", type=Path, required=True, metavar="DIR", help="directory of the results")
    add_report(command)
    command.add_argument("--json", action="store_true", help="print result.json on standard output")
    add_format(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    if (competition := given_competition(given)) is not None:
        given.format = competition.format
    return commands_of(given.format).play(given)
