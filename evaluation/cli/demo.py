"""`gauntlet demo`: all bundled models and attacks against each other, in minutes on a laptop."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from evaluation.cli import query_leaderboard_tables
from evaluation.cli.options import add_samples, add_sandbox, build_players, chosen_samples
from evaluation.cli.output import print_json, say
from evaluation.cli.perturbation_plot import plotted_adversarials, write_gallery
from evaluation.cli.positive_number import positive
from evaluation.cli.query_commands import play_tournament
from evaluation.domain.players import TrackName
from evaluation.formats.query.catalogue import baselines_for
from evaluation.formats.query.tournament.leaderboards import boards as make_boards


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "demo", help="play the bundled models against the bundled attacks of 2018 and before"
    )
    add_samples(command, split="validation", samples=20, queries=1000)
    add_sandbox(command)
    command.add_argument("--workers", type=positive, default=os.cpu_count() or 1, help="number of parallel matches")
    command.add_argument(
        "--out", type=Path, default=Path("demo"), metavar="DIR", help="directory of the results (default demo)"
    )
    command.add_argument("--json", action="store_true", help="print the leaderboards as JSON")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    chosen = chosen_samples(given)
    playing = tuple(baseline for baseline in baselines_for(given.dataset) if baseline.in_demo)
    if given.sandbox == "process":
        for baseline in filter(lambda each: each.missing_package, playing):
            say(f"Left out: {baseline.name}; for it: pip install --no-deps {baseline.missing_package}")
        playing = tuple(baseline for baseline in playing if not baseline.missing_package)
    players = build_players([baseline.repository() for baseline in playing], given.sandbox)
    models = sum(player.track is TrackName.MODEL for player in players)
    say(
        f"{models} models against {len(players) - models} attacks on {len(chosen.samples)} {chosen.split} samples of "
        f"{given.dataset}, {given.budget:,} queries per sample, {given.sandbox} sandbox."
    )
    results = play_tournament(players, chosen, given)
    if given.json:
        print_json(query_leaderboard_tables.for_json(results))
    else:
        query_leaderboard_tables.show(results)
    best = {board.rows[0].name for board in make_boards(results) if board.track is not TrackName.MODEL}
    shown = plotted_adversarials([result for result in results if result.attack in best], chosen.samples, each=2)
    gallery = given.out / "gallery.png"
    write_gallery(shown, chosen.dataset.class_names, gallery)
    say(f"The matches are in {given.out}; the gallery of images is {gallery}")
    return 0
