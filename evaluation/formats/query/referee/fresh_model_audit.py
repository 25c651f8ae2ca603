"""The second half of an audit: a freshly started model is asked again about frames that other instances answered."""

from __future__ import annotations

import random
from collections.abc import Sequence

from evaluation.domain.players import TrackName
from evaluation.formats.query.kept_frames import KeptFrame, KeptFrames
from evaluation.formats.query.referee.match_players import Model
from evaluation.formats.query.referee.model_audit import fresh_report, lone_report
from evaluation.formats.query.referee.player_interface import PlayerConnection
from evaluation.formats.query.referee.verdict_queries import ask_or_none
from evaluation.formats.query.results import AuditReport, Failure
from evaluation.formats.query.rules import QueryRules

STARTS = 2
"""Number of fresh instances that are started at most, where the first does not answer."""


def ask_fresh_model(
    connection: PlayerConnection,
    *,
    track: TrackName,
    rules: QueryRules,
    kept: Sequence[KeptFrames],
    seed: int,
    calibration: float = 1.0,
    failures: list[Failure] | None = None,
) -> tuple[AuditReport, ...]:
    """Ask a freshly started model about all frames of `kept`; return the counts of each piece.

    The frames of all pieces come in one order, as they were, the most perturbed first: a model that repeats the labels
    of similar earlier images then remembers only images beyond the boundary, and its later answers change. The images
    to be asked alone follow in random order. The instance has seen nothing, and is ended afterwards. One that fails is
    replaced once, so that an accident of the host costs nothing; an image without an answer after that counts as
    changed. `failures` gets those of both instances.
    """
    reports = [AuditReport() for _ in kept]
    instance = _FreshInstance(Model(connection, track, rules, calibration))
    try:
        for place, frame in sorted(_of_all([piece.frames for piece in kept]), key=lambda one: -one[1].distance):
            reports[place] += fresh_report(frame, instance.ask(frame))
        alone = _of_all([piece.alone for piece in kept])
        for place, frame in random.Random(seed).sample(alone, len(alone)):
            reports[place] += lone_report(frame, instance.ask(frame))
    finally:
        instance.model.close()
    if failures is not None:
        failures += instance.model.failures
    return tuple(reports)


class _FreshInstance:
    """A fresh instance of the model, and the one that replaces it where it fails."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def ask(self, frame: KeptFrame) -> list[int] | None:
        """Return the labels of `frame`, None where no instance that may still be started answers."""
        while len(self.model.failures) < STARTS:
            labels = ask_or_none(self.model, frame.images)
            if labels is not None:
                return labels
        return None


def _of_all(pieces: Sequence[Sequence[KeptFrame]]) -> list[tuple[int, KeptFrame]]:
    """Return the frames of all pieces, each with the place of its piece."""
    return [(place, frame) for place, kept in enumerate(pieces) for frame in kept]
