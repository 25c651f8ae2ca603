"""`gauntlet play`: one attack against one model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from evaluation.baselines.catalogue import is_bundled
from evaluation.cli.options import (
    add_samples,
    add_sandbox,
    build_players,
    chosen_samples,
    open_sandbox,
    results_directory,
    sizes,
    submission,
)
from evaluation.cli.output import print_error, print_json, print_table, progress_bar, say
from evaluation.cli.report import add_report, context_of, require_writable, write_report
from evaluation.cli.transfer import TRANSFER, add_format, play_one
from evaluation.domain.errors import ManifestRefusal, Refusal
from evaluation.domain.players import Player, Side, Track
from evaluation.domain.results import MatchResult, Outcome
from evaluation.referee.time_limits import calibrate
from evaluation.runner.artefacts import as_dict, median_distance, write_result
from evaluation.runner.checks import describe_failure
from evaluation.runner.play import play

SHOWN_CHARACTERS = 2000
"""The number of characters shown of a failed player's output."""


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser("play", help="play one attack against one model")
    for side, other in (("model", ["--defence"]), ("attack", [])):
        text = f"the {side}'s repository, or the name of a bundled one"
        command.add_argument(f"--{side}", *other, type=submission, required=True, metavar="DIR", help=text)
    command.add_argument("--track", choices=("untargeted", "targeted"), help="required in the query format")
    add_samples(command, split="validation", samples=None, queries=1000)
    command.add_argument(
        "--pieces",
        type=sizes,
        default=(),
        metavar="SIZES",
        help="samples in each piece, such as 8,8,4: a piece has its own random numbers (default 10 in each)",
    )
    add_sandbox(command)
    command.add_argument("--out", type=Path, required=True, metavar="DIR", help="directory of the results")
    add_report(command)
    command.add_argument("--json", action="store_true", help="print result.json on standard output")
    add_format(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    if given.format == TRANSFER:
        return play_one(given)
    if given.track is None:
        raise Refusal("the track is not named", fix="add --track untargeted or --track targeted")
    chosen = chosen_samples(given)
    require_writable(given.report)
    out = results_directory(given.out)
    model, attack = build_players([given.model, given.attack], given.sandbox)
    require_track(model, Track.MODEL, given.model)
    require_track(attack, Track(given.track), given.attack)
    sandbox = open_sandbox(given.sandbox)
    with progress_bar(len(chosen.samples), f"{attack.name} against {model.name}") as bar:
        played = play(
            model=model,
            attack=attack,
            samples=chosen.samples,
            rules=chosen.rules,
            sandbox=sandbox,
            seed=given.seed,
            calibration=calibrate(),
            sizes=given.pieces,
            level_caches=not is_bundled(model.directory),
            on_piece=lambda piece: bar.step(len(piece.samples)),
        )
    result = played.result
    write_result(result, chosen.samples, out)
    if given.report:
        from evaluation.report import query  # as in `context_of`

        write_report(
            query.of_match(result, context_of(given, chosen.dataset, chosen.split, chosen.samples)), given.report
        )
    if given.json:
        print_json(as_dict(result))
    else:
        _show(result, given.out)
    logs = {Side.MODEL: played.model_logs, Side.ATTACK: played.attack_logs}
    for failure in result.failures:
        print_error(f"the {failure.side} failed: {describe_failure(failure)}")
        output = "".join(logs[failure.side]).strip()[-SHOWN_CHARACTERS:]
        if output:
            say(f"last output of the {failure.side}:\n{output}")
    return 3 if any(failure.in_setup for failure in result.failures) else 0


def require_track(player: Player, track: Track, directory: Path) -> None:
    """Raise `ManifestRefusal` if a submission belongs to another track."""
    if player.track is not track:
        raise ManifestRefusal(
            f"{directory} is a submission to the {player.track} track, not to the {track} track",
            fix=f'set track = "{track}" in its submission.toml, or name another directory',
        )


def _show(result: MatchResult, out: Path) -> None:
    counts = (
        (str(outcome).replace("_", " "), sum(row.outcome is outcome for row in result.samples)) for outcome in Outcome
    )
    rows = [
        ("median distance", f"{median_distance(result):.4f}"),
        *((name, str(count)) for name, count in counts),
        ("queries", f"{sum(row.queries for row in result.samples):,}"),
        ("replayed", f"{result.audit.replayed}, {result.audit.changed} with another label"),
        ("written to", str(out)),
    ]
    title = f"{result.attack} against {result.model}, {result.track}, {len(result.samples)} samples"
    print_table(title, ("", ""), rows, text=(0, 1))
