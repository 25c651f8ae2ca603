"""`gauntlet compatibility`: play the submissions of 2017 and 2018 in a directory of exports, and print a table."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evaluation.builder.player_exception import last_exception
from evaluation.cli.compatibility_match_2017 import play_submission
from evaluation.cli.options import Chosen, add_samples, chosen_samples, open_sandbox, submission
from evaluation.cli.output import printable, say
from evaluation.domain.errors import Refusal
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.formats.query.results import MatchResult, Outcome
from evaluation.formats.query.runner.match_result_files import median_distance
from evaluation.formats.query.runner.play_match import Played, play
from evaluation.formats.query.runner.smoke_test_checks import describe_failure
from evaluation.formats.query.submissions_2018.builders import any_year_builder
from evaluation.formats.query.submissions_2018.manifest_2018 import FILE_NAME, is_2018
from evaluation.formats.transfer.metadata import METADATA_NAME
from evaluation.sandbox.base import Sandbox
from evaluation.sandbox.host_speed import processor_factor

_REPLACED = " is replaced by "

_EXCEPTIONS = (Reason.INVALID_LABEL, Reason.ATTACK_RAISED)
"""Reasons of a row that an exception of the program leaves, although the program goes on or is started again."""


@dataclass(frozen=True)
class CompatibilityRow:
    """What became of one export."""

    name: str
    track: str
    outcome: str
    replaced: tuple[str, ...] = ()


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "compatibility", help="play every submission of 2017 and 2018 in a directory, and print a table"
    )
    command.add_argument("directory", type=Path, metavar="DIR", help="a directory with one export in each folder")
    add_samples(command, split="validation", samples=3, queries=1000)
    command.add_argument("--model", type=submission, default="numpy-classifier", help="opponent of attacks of 2018")
    command.add_argument("--attack", type=submission, default="gaussian-noise", help="opponent of models of 2018")
    command.add_argument("--defence", type=submission, default="base-network", help="opponent of attacks of 2017")
    command.add_argument("--transfer-attack", type=submission, default="noop", help="opponent of defences of 2017")
    command.add_argument("--seed", type=int, default=0, help="seed that makes a match repeatable (default 0)")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    if not given.directory.is_dir():
        raise Refusal(f"{given.directory} is not a directory", fix="name the directory that holds the exports")
    chosen = chosen_samples(given)
    rows = []
    for folder in sorted(path for path in given.directory.iterdir() if path.is_dir()):
        say(f"{folder.name} ...")
        rows.append(_row(folder, given, chosen))
    print(as_markdown(rows), end="")
    return 0


def as_markdown(rows: Sequence[CompatibilityRow]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| repository | track | what came out | what was replaced |", "|---|---|---|---|"]
    for row in rows:
        cells = (row.name, row.track, row.outcome, "; ".join(row.replaced) or "nothing")
        lines.append("| " + " | ".join(printable(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _row(folder: Path, given: argparse.Namespace, chosen: Chosen) -> CompatibilityRow:
    if (folder / METADATA_NAME).is_file():
        return _row_2017(folder, given, chosen)
    if not is_2018(folder):
        return CompatibilityRow(
            folder.name, "-", f"no submission: {METADATA_NAME} (2017) and {FILE_NAME} (2018) are missing"
        )
    replaced: list[str] = []
    builder = any_year_builder("process")
    try:
        player = builder.build(folder, on_log=lambda line: replaced.append(line) if _REPLACED in line else None)
    except Refusal as refusal:
        return CompatibilityRow(folder.name, "-", f"refused: {refusal.problem}")
    opponent = builder.build(given.attack if player.track is TrackName.MODEL else given.model, on_log=lambda line: None)
    started = time.monotonic()
    played = _play(replace(player, name=folder.name), opponent, given, chosen, open_sandbox("process"))
    outcome = f"{_outcome(played, player)}, {time.monotonic() - started:.0f} s"
    return CompatibilityRow(folder.name, str(player.track), outcome, tuple(_short(line) for line in replaced))


def _row_2017(folder: Path, given: argparse.Namespace, chosen: Chosen) -> CompatibilityRow:
    replaced: list[str] = []
    started = time.monotonic()
    try:
        player, outcome = play_submission(
            folder, given, chosen, on_log=lambda line: replaced.append(line) if _REPLACED in line else None
        )
    except Refusal as refusal:
        return CompatibilityRow(folder.name, "-", f"refused: {refusal.problem}")
    outcome = f"{outcome}, {time.monotonic() - started:.0f} s"
    return CompatibilityRow(folder.name, _words(player.track), outcome, tuple(_short(line) for line in replaced))


def _play(
    player: QueryPlayer, opponent: QueryPlayer, given: argparse.Namespace, chosen: Chosen, sandbox: Sandbox
) -> Played:
    model, attack = (player, opponent) if player.track is TrackName.MODEL else (opponent, player)
    return play(
        model=model,
        attack=attack,
        samples=chosen.samples,
        rules=chosen.rules,
        sandbox=sandbox,
        seed=given.seed,
        calibration=processor_factor(),
        level_caches=False,  # it compares programs, and ranks none
    )


def _outcome(played: Played, player: QueryPlayer) -> str:
    result: MatchResult = played.result
    counts = {outcome: sum(row.outcome is outcome for row in result.samples) for outcome in Outcome}
    queries = sum(row.queries for row in result.samples)
    parts = [f"{len(result.samples)} samples", *(f"{count} {_words(name)}" for name, count in counts.items() if count)]
    parts += [f"median distance {median_distance(result):.2f}", f"{queries:,} queries"]
    logs = played.model_logs if player.track is TrackName.MODEL else played.attack_logs
    own = [failure for failure in result.failures if failure.side is player.track.side]
    raised = last_exception("".join(logs), player.directory)
    if own:
        parts.append(f"failed: {describe_failure(own[0])}{f' ({raised})' if raised else ''}")
    elif raised and any(row.reason in _EXCEPTIONS for row in result.samples):
        parts.append(f"raised {raised}")
    return ", ".join(parts)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _short(line: str) -> str:
    """Return a line of the build's log without its place and its reason."""
    return line.partition(": ")[2].partition(" (")[0].replace(_REPLACED, " by ")
