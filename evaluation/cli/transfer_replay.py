"""Matches of a released round of the transfer format: an attack and a defence, run again on the same batches."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from evaluation.cli.format_replay_interface import (
    ReleasedMatch,
    ReleasedPlayer,
    ReplayableRound,
    Replayed,
    ReplayedRow,
    build_released,
)
from evaluation.cli.options import open_sandbox
from evaluation.cli.output import progress_bar, say
from evaluation.cli.released_round import ReleasedRound, open_images
from evaluation.datasets.released_samples import SPLIT, released
from evaluation.domain.errors import ReplayRefusal
from evaluation.formats.transfer.bundle.verify import read_signed
from evaluation.formats.transfer.bundle.writer import BundleEntrant, TransferRecord
from evaluation.formats.transfer.catalogue import transfer_baselines
from evaluation.formats.transfer.results import NO_LABEL
from evaluation.formats.transfer.runner.match_problems import problems
from evaluation.formats.transfer.runner.match_result import TransferResult
from evaluation.formats.transfer.runner.play_match import TransferMatch, play
from evaluation.formats.transfer.runner.player_build import build_player
from evaluation.formats.transfer.runner.resource_limits import resources
from evaluation.sandbox.host_speed import processor_factor

_COLUMNS = ("image", "label")


class TransferReplayableRound(ReplayableRound):
    """See `ReplayableRound`."""

    def __init__(self, of: ReleasedRound, key: str | None) -> None:
        self._of = of
        with ExitStack() as opened:
            bundle = opened.enter_context(of.open_bundle())
            found, self.report = read_signed(bundle, key, images=open_images(of, opened))
        self._record = found.record if found else None
        self.matches = _matches(self._record) if self._record else ()

    def replay(self, match: ReleasedMatch, repositories: Sequence[Path], given: argparse.Namespace) -> Replayed:
        """Run the attack on every batch and the defence on its images; compare images and labels with the bundle."""
        record = self._record
        if record is None:
            raise ReplayRefusal("the bundle cannot be read")
        attack, model = repositories
        build = partial(build_player, sandbox=given.sandbox)
        again = TransferMatch(
            rules=record.head.rules,
            attacks=[build_released(match.attack, attack, build)],
            defences=[build_released(match.model, model, build)],
            samples=released(self._of.images).samples(SPLIT, match.samples),
            seed=record.head.seed,
        )
        with (
            tempfile.TemporaryDirectory(prefix="gauntlet-replay-") as folder,
            progress_bar(2 * len(record.batches), "playing again") as bar,
        ):
            result = play(
                again,
                sandbox=open_sandbox(given.sandbox),
                directory=Path(folder),
                resources=resources(),
                calibration=processor_factor(),
                on_batch=lambda _: bar.step(),
                on_log=lambda player, log: None,
            )
        for name, problem in problems(result):
            say(f"{name}: {problem}")
        return Replayed(_COLUMNS, tuple(_rows(record, match, result)))


def _matches(record: TransferRecord) -> list[ReleasedMatch]:
    players = {each.player: _player(each) for each in record.entrants}
    samples = sum(len(batch.hashes) for batch in record.batches)
    return [
        ReleasedMatch(players[attack.player], players[defence.player], samples)
        for attack in record.attacks
        for defence in record.defences
    ]


def _player(entrant: BundleEntrant) -> ReleasedPlayer:
    named = (each for each in transfer_baselines() if (each.name, each.track) == (entrant.baseline, entrant.track))
    return ReleasedPlayer(entrant.player, str(entrant.track), entrant.submissions, next(named, None))


def _rows(record: TransferRecord, match: ReleasedMatch, result: TransferResult) -> Sequence[ReplayedRow]:
    labels = {each.batch: each.labels.tolist() for each in result.labelled}
    published_labels = record.labels[match.attack.name, match.model.name].labels
    rows: list[ReplayedRow] = []
    for made in result.made:
        published = record.attack_runs[match.attack.name, made.batch].hashes
        given = labels.get(made.batch, [NO_LABEL] * len(made.hashes))
        for one, other, label in zip(published, made.hashes, given, strict=True):
            number = len(rows)
            rows.append(ReplayedRow(number, (one or "none", published_labels[number]), (other or "none", label)))
    return rows
