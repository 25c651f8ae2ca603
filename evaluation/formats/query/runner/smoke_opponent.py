"""Opponent of attacks in the smoke test: a model of the competition's images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evaluation.domain.errors import DatasetRefusal
from evaluation.domain.players import QueryPlayer
from evaluation.domain.samples import Sample
from evaluation.formats.query.referee.player_interface import PlayerConnection
from evaluation.formats.query.runner.in_process_player import InProcessPlayer
from evaluation.formats.query.runner.nearest_mean_classifier import NearestMean
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.sandbox.base import Resources, Sandbox
from gauntlet import serve_model

MADE_FROM = 200
"""The most development samples of a nearest-mean opponent: few means are fast, and with few images of each class most
labels are right."""

NAME = "nearest-mean"


@dataclass(frozen=True, eq=False)
class SmokeOpponent:
    """A connection to a model, and the samples on which attacks are tried against it, in order."""

    name: str
    connection: PlayerConnection
    samples: tuple[Sample, ...]


def player_opponent(player: QueryPlayer, sandbox: Sandbox, samples: Sequence[Sample]) -> SmokeOpponent:
    """Return a submission as the opponent; the match shows which of `samples` it labels right."""
    return SmokeOpponent(player.name, SandboxedPlayer(sandbox, player, Resources()), tuple(samples))


def nearest_mean_opponent(development: Sequence[Sample]) -> SmokeOpponent:
    """Return a model made of the first `MADE_FROM` development samples. It is trusted and needs no sandbox.

    Its samples are those that it labels right. Targets are classes of these samples: if a sample has another target,
    the next such class replaces it. Raise `DatasetRefusal` for fewer than two classes.
    """
    made_from = development[:MADE_FROM]
    model = NearestMean(made_from)
    right = [sample for sample in made_from if model.predict(sample.image[None])[0] == sample.label]
    known = sorted({sample.label for sample in right})
    if len(known) < 2:
        raise DatasetRefusal(
            f"a nearest-mean model of the first {len(made_from)} development images labels images of fewer than two "
            "classes correctly, so it cannot test an attack",
            fix="add development images of more classes, or name a model for them: --model DIR, or "
            "smoke_opponent in the competition's file",
        )
    connection = InProcessPlayer(lambda connected: serve_model(model.predict, connected=connected))
    return SmokeOpponent(NAME, connection, tuple(_with_known_target(sample, known) for sample in right))


def _with_known_target(sample: Sample, known: Sequence[int]) -> Sample:
    if sample.target is None or sample.target in known:
        return sample
    others = [label for label in known if label != sample.label]
    return replace(sample, target=next((label for label in others if label > sample.target), others[0]))
