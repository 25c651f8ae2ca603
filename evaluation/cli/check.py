"""`gauntlet check`: the site's checks of a submission, run locally, with its whole output."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from evaluation.baselines.catalogue import find_baseline
from evaluation.builder.source_tree import check_tree_size
from evaluation.cli.options import (
    Chosen,
    add_samples,
    add_sandbox,
    build_players,
    chosen_samples,
    is_2017,
    open_sandbox,
    submission,
)
from evaluation.cli.output import OUT, print_json, printable, progress_bar, say
from evaluation.cli.play import require_track
from evaluation.cli.transfer_check import smoke_test as transfer_smoke_test
from evaluation.domain.players import Player, Track
from evaluation.domain.results import PieceResult
from evaluation.domain.smoke_checks import SmokeTestResult, what_failed
from evaluation.referee.time_limits import calibrate
from evaluation.runner.smoke_opponent import MADE_FROM, Opponent, nearest_mean_opponent, player_opponent
from evaluation.runner.smoke_test import SAMPLES, check_attack, check_model
from evaluation.transfer.smoke_test import SAMPLES as TRANSFER_SAMPLES

_MARKS = {True: "[green]passed[/green]", False: "[red]FAILED[/red]", None: "[yellow]not reached[/yellow]"}

LEAST_ACCURACY = 0.5
"""The clean accuracy that a model needs, if the competition does not say another one."""

OPPONENT = "numpy-classifier"
"""The bundled model of the digits that attacks are checked against; it needs only numpy."""


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
    smoke = transfer_smoke_test(given) if is_2017(given.directory) else _query_smoke_test(given)
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


def _query_smoke_test(given: argparse.Namespace) -> SmokeTestResult:
    """Build `given.directory` and play its smoke test."""
    chosen = chosen_samples(given)
    (player,) = build_players([given.directory], given.sandbox)
    say(f"{player.name}: manifest and build are valid ({player.track} track); running the smoke test ...")
    return _play(player, given, chosen)


def _play(player: Player, given: argparse.Namespace, chosen: Chosen) -> SmokeTestResult:
    sandbox = open_sandbox(given.sandbox)
    opponent = None if player.track is Track.MODEL else _opponent(given, chosen)
    count = min(len(chosen.samples), len(opponent.samples if opponent else chosen.samples))
    with progress_bar(count, f"smoke test of {player.name}") as bar:

        def on_piece(piece: PieceResult) -> None:
            bar.step(len(piece.samples))

        common: dict[str, Any] = {
            "rules": chosen.rules,
            "sandbox": sandbox,
            "seed": given.seed,
            "calibration": calibrate(),
            "most": count,
            "on_piece": on_piece,
        }
        if opponent is None:
            least = LEAST_ACCURACY if given.least_accuracy is None else given.least_accuracy
            return check_model(player, samples=chosen.samples, least_accuracy=least, **common)
        return check_attack(player, opponent=opponent, **common)


def _opponent(given: argparse.Namespace, chosen: Chosen) -> Opponent:
    if given.model is None and given.dataset != "digits":
        opponent = nearest_mean_opponent(chosen.first(max(MADE_FROM, len(chosen.samples))))
        say(f"opponent: a nearest-mean model of the split {chosen.split!r}")
        return opponent
    # a bundled model is trusted; a given one runs like the attack itself
    sandbox = given.sandbox if given.model else "process"
    source = given.model or find_baseline(OPPONENT).repository()
    (model,) = build_players([source], sandbox)
    require_track(model, Track.MODEL, source)
    return player_opponent(model, open_sandbox(sandbox), chosen.samples)


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
