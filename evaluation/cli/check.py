"""`gauntlet check`: what the arena will ask of a submission, asked here first, with everything it prints."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evaluation.baselines.catalogue import baselines
from evaluation.cli.options import (
    Chosen,
    add_samples,
    add_sandbox,
    build_players,
    chosen_samples,
    directory,
    open_sandbox,
)
from evaluation.cli.output import OUT, print_json, printable, progress_bar, say
from evaluation.domain.players import Player, Track
from evaluation.domain.results import PieceResult
from evaluation.referee.clock import calibrate
from evaluation.runner.checks import what_failed
from evaluation.runner.smoke import Smoke, check_attack, check_model

_MARKS = {True: "[green]passed[/green]", False: "[red]FAILED[/red]", None: "[yellow]not reached[/yellow]"}

OPPONENT = "numpy-classifier"
"""The bundled model that an attack is checked against: needs numpy alone."""


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "check", help="check a submission: manifest, build, smoke stage on development images"
    )
    command.add_argument("directory", type=directory, metavar="DIR")
    add_samples(command, split="dev", samples=20, queries=1000)
    add_sandbox(command)
    command.add_argument(
        "--least-accuracy", type=float, default=0.5, help="clean accuracy that a model needs (default 0.5)"
    )
    command.add_argument("--model", type=directory, metavar="DIR", help=f"whom an attack meets (default {OPPONENT})")
    command.add_argument("--json", action="store_true", help="print the checks as JSON")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    chosen = chosen_samples(given)
    (player,) = build_players([given.directory], given.sandbox)
    say(f"{player.name}: manifest and build are fine ({player.track} track); smoke stage ...")
    smoke = _smoke(player, given, chosen)
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


def _smoke(player: Player, given: argparse.Namespace, chosen: Chosen) -> Smoke:
    sandbox = open_sandbox(given.sandbox)
    with progress_bar(len(chosen.samples), f"smoke stage of {player.name}") as bar:

        def on_piece(piece: PieceResult) -> None:
            bar.step(len(piece.samples))

        if player.track is Track.MODEL:
            return check_model(
                player,
                samples=chosen.samples,
                rules=chosen.rules,
                sandbox=sandbox,
                seed=given.seed,
                calibration=calibrate(),
                least_accuracy=given.least_accuracy,
                on_piece=on_piece,
            )
        # ours is trusted; one that was named runs like the attack itself
        opponent_sandbox = given.sandbox if given.model else "process"
        (opponent,) = build_players([given.model or _bundled_opponent()], opponent_sandbox)
        return check_attack(
            player,
            model=opponent,
            model_sandbox=open_sandbox(opponent_sandbox),
            samples=chosen.samples,
            rules=chosen.rules,
            sandbox=sandbox,
            seed=given.seed,
            calibration=calibrate(),
            on_piece=on_piece,
        )


def _bundled_opponent() -> Path:
    return next(baseline.path for baseline in baselines() if baseline.name == OPPONENT)


def _show(smoke: Smoke) -> None:
    if smoke.log:
        OUT.rule("what it printed")
        OUT.print(printable(smoke.log.rstrip()), markup=False, highlight=False)
        OUT.rule()
    for check in smoke.checks:
        OUT.print(f"{_MARKS[check.passed]}  {check.name}", end="" if check.passed is None else ": ")
        OUT.print("" if check.passed is None else printable(check.seen), markup=False, highlight=False)
    if smoke.passed:
        OUT.print("The arena would take it.")
        return
    problem, fixes = what_failed(smoke.checks)
    OUT.print(f"The arena would refuse it: {printable(problem)}", style="bold", markup=False, highlight=False)
    for fix in fixes:
        OUT.print(f"  fix: {printable(fix)}", markup=False, highlight=False)
