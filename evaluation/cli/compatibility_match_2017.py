"""`gauntlet compatibility` for one submission of 2017: a match of the transfer format against a bundled opponent."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from evaluation.builder.base import LogLine
from evaluation.builder.player_exception import last_exception
from evaluation.cli.options import Chosen, open_sandbox
from evaluation.formats.transfer.results import ImageNote
from evaluation.formats.transfer.rules import TransferRules
from evaluation.formats.transfer.runner.batch_in_sandbox import CODE
from evaluation.formats.transfer.runner.match_result import TransferResult
from evaluation.formats.transfer.runner.play_match import TransferMatch, play
from evaluation.formats.transfer.runner.player_build import build_player
from evaluation.formats.transfer.runner.resource_limits import resources
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.sandbox.host_path_redaction import HostPaths
from evaluation.sandbox.host_speed import processor_factor

EPSILON = 16
"""The size of the ball, in levels of 0 to 255: the largest of 2017."""


def play_submission(
    folder: Path, given: argparse.Namespace, chosen: Chosen, *, on_log: LogLine
) -> tuple[TransferPlayer, str]:
    """Play the submission of 2017 in `folder`; return it and what came out. Raise `Refusal` if it cannot run."""
    player = build_player(folder, sandbox="process", on_log=on_log)
    opponent = build_player(
        given.defence if player.track.is_attack else given.transfer_attack, sandbox="process", on_log=lambda line: None
    )
    attack, defence = (player, opponent) if player.track.is_attack else (opponent, player)
    logs: list[str] = []
    rules = TransferRules(
        shape=chosen.dataset.shape,
        classes=chosen.dataset.classes,
        epsilons=(EPSILON,),
        batch_images=min(len(chosen.samples), TransferRules().batch_images),
    )
    with tempfile.TemporaryDirectory(prefix="gauntlet-compatibility-") as directory:
        result = play(
            TransferMatch(rules, [attack], [defence], chosen.samples, seed=given.seed),
            sandbox=open_sandbox("process"),
            directory=Path(directory),
            resources=resources(),
            calibration=processor_factor(),
            on_batch=lambda batch: None,
            on_log=lambda each, log: logs.append(log) if each is player else None,
        )
    return player, outcome(result, player, logs)


def outcome(result: TransferResult, player: TransferPlayer, logs: Sequence[str]) -> str:
    """Return what came out of a match of one attack and one defence, for the row of `player`."""
    (pair,) = result.pairs()
    if player.track.is_attack:
        clipped = sum(made.count(ImageNote.CLIPPED) for made in result.made)
        parts = [f"{pair.made} of {pair.images} images made, {clipped} clipped to epsilon {EPSILON}"]
        parts.append(f"{pair.defence} right on {pair.correct} of {pair.labelled}")
        if pair.targeted:
            parts.append(f"target class {pair.hits}")
        runs = [made.run for made in result.made]
    else:
        parts = [f"{pair.labelled} of {pair.made} images labelled, {pair.correct} right, against {pair.attack}"]
        runs = [labels.run for labels in result.labelled]
    failed = [run for run in runs if run.reason]
    if failed:
        raised = last_exception(HostPaths().shorten("".join(logs)), Path(CODE))
        parts.append(f"failed: {failed[0]}{f' ({raised})' if raised else ''}")
    return ", ".join(parts)
