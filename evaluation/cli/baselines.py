"""`gauntlet baselines`: list of the bundled submissions."""

from __future__ import annotations

import argparse
from typing import Any

from evaluation.cli.output import print_json, print_table, say
from evaluation.formats.registry import all_bundled


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser("baselines", help="list the bundled models and attacks")
    command.add_argument("--json", action="store_true", help="print them as JSON")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    columns = ("name", "track", "images")
    bundled = all_bundled()
    rows = [(each.name, str(each.track), " or ".join(each.data_sets) or "any") for each in bundled]
    if given.json:
        paths = [str(each.repository()) for each in bundled]
        print_json(
            [dict(zip((*columns, "path"), (*row, path), strict=True)) for row, path in zip(rows, paths, strict=True)]
        )
    else:
        print_table("Bundled submissions", columns, rows, text=(0, 1, 2))
        say("Commands take these names in place of directories; `--json` adds the directories.")
    return 0
