"""The transfer format in `gauntlet play` and `gauntlet tournament`: all attacks, then all defences."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evaluation.builder.docker_build_settings import build_settings_from_environment
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.cli.competition_option import given_competition
from evaluation.cli.options import (
    installed_layers,
    open_sandbox,
    require_distinct_names,
    results_directory,
    samples_of,
)
from evaluation.cli.output import print_error, print_json, progress_bar, say
from evaluation.cli.positive_number import positive
from evaluation.cli.report_option import context_of, require_writable, write_report
from evaluation.cli.transfer_leaderboard_tables import show
from evaluation.datasets.base import Dataset
from evaluation.domain.errors import ManifestRefusal, Refusal
from evaluation.formats.registry import require_format
from evaluation.formats.transfer.format import Transfer
from evaluation.formats.transfer.results import AttackBatch, DefenceBatch
from evaluation.formats.transfer.rules import Opponents, TransferRules
from evaluation.formats.transfer.runner.match_problems import any_failed, problems
from evaluation.formats.transfer.runner.match_result import TransferResult
from evaluation.formats.transfer.runner.match_result_files import as_dict, write_files
from evaluation.formats.transfer.runner.play_match import TransferMatch, play
from evaluation.formats.transfer.runner.player_build import build_player
from evaluation.formats.transfer.runner.resource_limits import resources
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.sandbox.host_speed import processor_factor

SHOWN_CHARACTERS = 2000
"""The number of characters shown of a failed submission's output."""


def epsilons(text: str) -> tuple[int, ...]:
    """Parse a list of epsilons, for argparse."""
    found = tuple(map(int, text.split(",")))
    if not all(1 <= epsilon <= 255 for epsilon in found):
        raise argparse.ArgumentTypeError("must be whole numbers from 1 to 255, such as 4,8,12,16")
    return found


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of this format to `command`."""
    rules = TransferRules()
    group = command.add_argument_group("transfer format")
    group.add_argument(
        "--epsilons",
        type=epsilons,
        default=rules.epsilons,
        metavar="LIST",
        help="size of the ball of each batch in turn, in levels of 0 to 255 (default 4,8,12,16)",
    )
    group.add_argument("--draw-epsilons", action="store_true", help="draw them with the seed instead")
    text = f"most images in a batch (default {rules.batch_images})"
    group.add_argument("--batch-images", type=positive, default=rules.batch_images, metavar="N", help=text)
    group.add_argument(
        "--opponents",
        choices=[str(each) for each in Opponents],
        default=str(rules.opponents),
        help="whom scores count: all by coverage (default), or complete ones alone, the rule of 2017",
    )


def play_one(given: argparse.Namespace) -> int:
    """Run `gauntlet play` in the transfer format: `given.attack` against the defence `given.model`."""
    require_writable(given.report)
    attack, defence = players = build_players([given.attack, given.model], given.sandbox)
    for player, attacks in ((attack, True), (defence, False)):
        if player.track.is_attack != attacks:
            raise ManifestRefusal(
                f"{player.name} is a submission to the {player.track} track",
                fix="name an attack with --attack and a defence with --defence",
            )
    return 3 if any_failed(_run(players, given, workers=1)) else 0


def play_all_of(given: argparse.Namespace) -> int:
    """Run `gauntlet tournament` in the transfer format: all of `given.players` in both phases."""
    if given.out is None:
        raise Refusal("the transfer format stores its batches", fix="name a directory with --out")
    require_writable(given.report)
    players = build_players(given.players, given.sandbox)
    if len({player.track.is_attack for player in players}) < 2:
        raise Refusal("a match needs an attack and a defence", fix="name at least one repository of each side")
    _run(players, given, workers=given.workers)
    return 0


def build_players(directories: Sequence[Path], sandbox: str) -> list[TransferPlayer]:
    """Build each submission for that sandbox; as in the query format, players are named after their directories."""
    require_format(directories, Transfer.name)
    images = DockerBuilder(build_settings_from_environment(), cache=installed_layers()) if sandbox == "docker" else None
    return [_build(directory.resolve(), sandbox, images) for directory in directories]


def _build(directory: Path, sandbox: str, images: DockerBuilder | None) -> TransferPlayer:
    def log(line: str) -> None:
        say(f"  {directory.name}: {line}")

    return replace(build_player(directory, sandbox=sandbox, on_log=log, images=images), name=directory.name)


def _run(players: Sequence[TransferPlayer], given: argparse.Namespace, *, workers: int) -> TransferResult:
    """Play `players`, write the results to `given.out`, and print the leaderboards; return the result."""
    require_distinct_names([player.name for player in players])
    dataset, split, samples = samples_of(given)
    match = TransferMatch(
        rules=_rules(given, dataset),
        attacks=[player for player in players if player.track.is_attack],
        defences=[player for player in players if not player.track.is_attack],
        samples=samples,
        seed=given.seed,
        workers=workers,
    )
    result = _play(match, given.sandbox, results_directory(given.out))
    write_files(result, given.out)
    if given.report:
        from evaluation.formats.transfer.report import html_report as transfer  # as in `context_of`

        write_report(transfer.of_transfer(result, context_of(given, dataset, split, samples)), given.report)
    if given.json:
        print_json(as_dict(result))
    else:
        show(result)
        say(f"written to {given.out}")
    return result


def _rules(given: argparse.Namespace, dataset: Dataset) -> TransferRules:
    if (competition := given_competition(given)) is not None:
        return competition.rules_as(TransferRules)
    try:
        return TransferRules(
            shape=dataset.shape,
            classes=dataset.classes,
            batch_images=given.batch_images,
            epsilons=given.epsilons,
            epsilon_order="drawn" if given.draw_epsilons else "cycled",
            opponents=Opponents(given.opponents),
        )
    except ValueError as error:
        raise Refusal(str(error), fix="change the option or the data set") from None


def _play(match: TransferMatch, sandbox: str, out: Path) -> TransferResult:
    logs: dict[str, str] = {}

    def on_log(player: TransferPlayer, log: str) -> None:
        logs[player.name] = log

    runs = len(match.batches()) * len(match.attacks) * (1 + len(match.defences))
    with progress_bar(runs, "attack phase") as bar:

        def on_batch(batch: AttackBatch | DefenceBatch | None) -> None:
            bar.step(text="attack phase" if isinstance(batch, AttackBatch) else "defence phase")

        result = play(
            match,
            sandbox=open_sandbox(sandbox),
            directory=out,
            resources=resources(),
            calibration=processor_factor(),
            on_batch=on_batch,
            on_log=on_log,
        )
    for name, problem in problems(result):
        print_error(f"{name}: {problem}")
        if output := logs.pop(name, "").strip()[-SHOWN_CHARACTERS:]:
            say(f"last output of {name}:\n{output}")
    return result
