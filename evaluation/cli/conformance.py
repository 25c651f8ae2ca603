"""`gauntlet conformance`: test of a player, in any language, against the protocol."""

from __future__ import annotations

import argparse
from typing import Any

from evaluation.cli.output import OUT, print_json, printable, working
from evaluation.datasets.load import load_dataset
from evaluation.formats.query.conformance import check_player
from evaluation.formats.query.rules import QueryRules


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "conformance", help="test any player against the protocol (docs/protocol.md)"
    )
    command.add_argument("--json", action="store_true", help="print the checks as JSON")
    command.add_argument(
        "--dataset", default="digits", help="data set whose image size and classes the player expects (default digits)"
    )
    command.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="COMMAND ...", help="command that starts the player"
    )
    command.set_defaults(run=lambda given: run(given, command))


def run(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    words = given.command[1:] if given.command[:1] == ["--"] else given.command
    if not words:
        parser.error("name the command that starts the player, for example: gauntlet conformance ./my-player")
    dataset = load_dataset(given.dataset)
    with working(f"testing {words[0]} ..."):
        checks = check_player(words, rules=QueryRules(shape=dataset.shape, classes=dataset.classes))
    if given.json:
        print_json([{"name": check.name, "passed": check.passed, "seen": check.seen} for check in checks])
    else:
        for check in checks:
            OUT.print("[green]passed[/green]" if check.passed else "[red]FAILED[/red]", end="  ")
            OUT.print(printable(f"{check.name}: {check.seen}"), markup=False, highlight=False)
    return 0 if all(check.passed for check in checks) else 3
