"""Whom an attack meets in the smoke stage: a model that knows the images of the competition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evaluation.domain.errors import DatasetRefusal
from evaluation.domain.players import Player
from evaluation.domain.samples import Sample
from evaluation.referee.player_connection import PlayerConnection
from evaluation.runner.in_process_player import InProcessPlayer
from evaluation.runner.nearest_mean import NearestMean
from evaluation.runner.sandboxed_player import SandboxedPlayer
from evaluation.sandbox.base import Resources, Sandbox
from gauntlet import serve_model

MADE_FROM = 200
"""Development samples that a nearest-mean opponent is made from, at most: few means for many classes are quick, and
of few images of each class most are labelled right."""

NAME = "nearest-mean"


@dataclass(frozen=True, eq=False)
class Opponent:
    """A model in its seat, and the samples on which attacks can be tried against it, in their order."""

    name: str
    connection: PlayerConnection
    samples: tuple[Sample, ...]


def player_opponent(
    player: Player, sandbox: Sandbox, samples: Sequence[Sample], resources: Resources | None = None
) -> Opponent:
    """A submission as the opponent; which of `samples` it gets right shows when it is played."""
    return Opponent(player.name, SandboxedPlayer(sandbox, player, resources or Resources()), tuple(samples))


def nearest_mean_opponent(development: Sequence[Sample]) -> Opponent:
    """A model made of the first `MADE_FROM` development samples. It is our own code and needs no sandbox.

    Its samples are those that it gets right. Targets are classes of which it knows an image: where a sample has another
    one, the next such class takes its place. Raises `DatasetRefusal` where it knows fewer than two classes.
    """
    made_from = development[:MADE_FROM]
    model = NearestMean(made_from)
    right = [sample for sample in made_from if model.predict(sample.image[None])[0] == sample.label]
    known = sorted({sample.label for sample in right})
    if len(known) < 2:
        raise DatasetRefusal(
            f"a nearest-mean model of the first {len(made_from)} development images gets images of fewer than two "
            "classes right, so no attack can be tried against it",
            fix="give development images of more classes, or name a model that knows them: --model DIR, or "
            "smoke_opponent in the competition's file",
        )
    connection = InProcessPlayer(lambda connected: serve_model(model.predict, connected=connected))
    return Opponent(NAME, connection, tuple(_with_known_target(sample, known) for sample in right))


def _with_known_target(sample: Sample, known: Sequence[int]) -> Sample:
    if sample.target is None or sample.target in known:
        return sample
    others = [label for label in known if label != sample.label]
    return replace(sample, target=next((label for label in others if label > sample.target), others[0]))
