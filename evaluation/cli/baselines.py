"""`gauntlet baselines`: list of the bundled submissions."""

from __future__ import annotations

import argparse
from typing import Any

from evaluation.baselines.catalogue import baselines
from evaluation.baselines.transfer_catalogue import transfer_baselines
from evaluation.cli.output import print_json, print_table


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser("baselines", help="list the bundled models and attacks")
    command.add_argument("--json", action="store_true", help="print them as JSON")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    rows = [(baseline.name, str(baseline.track), str(baseline.repository())) for baseline in baselines()]
    rows += [(baseline.name, str(baseline.track), str(baseline.repository())) for baseline in transfer_baselines()]
    if given.json:
        print_json([{"name": name, "track": track, "path": path} for name, track, path in rows])
    else:
        print_table("Bundled submissions", ("name", "track", "path"), rows, text=(0, 1, 2))
    return 0
