"""`gauntlet tournament`: all given attacks against all given models."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from evaluation.cli import boards
from evaluation.cli.options import (
    Chosen,
    add_samples,
    add_sandbox,
    build_players,
    chosen_samples,
    open_sandbox,
    positive,
    results_directory,
    submission,
)
from evaluation.cli.output import print_error, print_json, progress_bar
from evaluation.cli.report import add_report, context_of, require_writable, write_report
from evaluation.cli.transfer import TRANSFER, add_format, play_all_of
from evaluation.domain.errors import Refusal
from evaluation.domain.players import Player, Track
from evaluation.domain.results import MatchResult
from evaluation.referee.time_limits import calibrate
from evaluation.runner.artefacts import write_result
from evaluation.runner.tournament import Pairing, pairings, play_all
from evaluation.sandbox.docker import DockerSandbox
from evaluation.sandbox.process import ProcessSandbox


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
    if given.format == TRANSFER:
        return play_all_of(given)
    require_writable(given.report)
    players, chosen = build_players(given.players, given.sandbox), chosen_samples(given)
    results = play_tournament(players, chosen, given)
    if given.report:
        from evaluation.report import query  # as in `context_of`

        write_report(
            query.of_tournament(results, context_of(given, chosen.dataset, chosen.split, chosen.samples)), given.report
        )
    if given.json:
        print_json(boards.for_json(results))
    else:
        boards.show(results)
    return 0


def play_tournament(players: list[Player], chosen: Chosen, given: argparse.Namespace) -> list[MatchResult]:
    """Play all pairs with a progress bar; write the matches below `given.out` if that is set."""
    names = [player.name for player in players]
    for name in names:
        if names.count(name) > 1:
            raise Refusal(f"two players have the name {name}", fix="rename one of the directories")
    models = [player for player in players if player.track is Track.MODEL]
    attacks = [player for player in players if player.track is not Track.MODEL]
    if not models or not attacks:
        raise Refusal("a tournament needs a model and an attack", fix="name at least one repository of each side")
    if given.out:
        results_directory(given.out)
    open_sandbox(given.sandbox)
    sandbox = DockerSandbox if given.sandbox == "docker" else ProcessSandbox
    matches = pairings(models, attacks)
    failures: list[str] = []
    with progress_bar(len(matches), "matches") as bar:

        def on_match(match: Pairing, result: MatchResult) -> None:
            bar.step(text=f"{match.attack.name} against {match.model.name}")
            failures.extend(f"{match.attack.name} against {match.model.name}: {f}" for f in result.failures)
            if given.out:
                write_result(result, chosen.samples, given.out / f"{match.attack.name}--{match.model.name}")

        results = play_all(
            matches,
            samples=chosen.samples,
            rules=chosen.rules,
            sandbox=sandbox,
            seed=given.seed,
            calibration=calibrate(),
            workers=given.workers,
            on_match=on_match,
        )
    for failure in failures:
        print_error(failure)
    return results
