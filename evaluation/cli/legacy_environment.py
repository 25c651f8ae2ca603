"""`gauntlet legacy-environment`: the Python environment of submissions of 2017 and 2018."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from evaluation.cli.output import print_table, say


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "legacy-environment", help="make the Python environment that submissions of 2017 and 2018 run in"
    )
    command.add_argument("directory", type=Path, nargs="?", metavar="DIR", help="where it is made, or completed")
    command.add_argument("--tensorflow", action="store_true", help="add TensorFlow 2.15 for programs of TensorFlow 1")
    command.add_argument("--table", action="store_true", help="print what it replaces, and make nothing")
    command.set_defaults(run=run, command=command)


def run(given: argparse.Namespace) -> int:
    from evaluation.legacy.environment import VARIABLE, make_environment
    from evaluation.legacy.substitutions import SUBSTITUTIONS

    if given.table:
        rows = [(", ".join(row.packages), row.given, row.why) for row in SUBSTITUTIONS]
        print_table("substitutions", ("asked for", "given", "because"), rows, text=(0, 1, 2))
        return 0
    if given.directory is None:
        given.command.error("name the directory, or --table")
    made = make_environment(given.directory, tensorflow=given.tensorflow, say=say)
    say(f"{len(made.versions)} packages; now set {VARIABLE}={made.directory}")
    return 0
