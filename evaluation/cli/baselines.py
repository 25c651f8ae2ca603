"""`gauntlet baselines`: list of the bundled submissions."""

from __future__ import annotations

import argparse
from typing import Any

from evaluation.baselines.all_formats import all_bundled
from evaluation.cli.output import print_json, print_table


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser("baselines", help="list the bundled models and attacks")
    command.add_argument("--json", action="store_true", help="print them as JSON")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    columns = ("name", "track", "images", "path")
    rows = [
        (each.name, str(each.track), " or ".join(each.data_sets) or "any", str(each.repository()))
        for each in all_bundled()
    ]
    if given.json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table("Bundled submissions", columns, rows, text=(0, 1, 2, 3))
    return 0
