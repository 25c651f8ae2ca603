"""The second half of an audit: a freshly started model is asked again about frames that other instances answered."""

from __future__ import annotations

import random
from collections.abc import Sequence

from evaluation.domain.kept_frames import KeptFrame, KeptFrames
from evaluation.domain.players import Track
from evaluation.domain.results import AuditReport
from evaluation.domain.rules import QueryRules
from evaluation.referee.audit import fresh_report, lone_report
from evaluation.referee.player_connection import PlayerConnection
from evaluation.referee.players import Model
from evaluation.referee.verdict import ask_or_none

STARTS = 2
"""Number of fresh instances that are started at most, where the first does not answer."""


def ask_fresh_model(
    connection: PlayerConnection,
    *,
    track: Track,
    rules: QueryRules,
    kept: Sequence[KeptFrames],
    seed: int,
    calibration: float = 1.0,
) -> tuple[AuditReport, ...]:
    """Ask a freshly started model about all frames of `kept`; return the counts of each piece.

    The frames of all pieces come in one random order, as they were; the images to be asked alone follow. The instance
    has seen nothing, and is ended afterwards. One that fails is replaced once, so that an accident of the host costs
    nothing; an image without an answer after that counts as changed.
    """
    rng = random.Random(seed)
    reports = [AuditReport() for _ in kept]
    instance = _FreshInstance(Model(connection, track, rules, calibration))
    try:
        for place, frame in _shuffled([piece.frames for piece in kept], rng):
            reports[place] += fresh_report(frame, instance.ask(frame))
        for place, frame in _shuffled([piece.alone for piece in kept], rng):
            reports[place] += lone_report(frame, instance.ask(frame))
    finally:
        instance.model.close()
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


def _shuffled(pieces: Sequence[Sequence[KeptFrame]], rng: random.Random) -> list[tuple[int, KeptFrame]]:
    """Return all frames in random order, each with the place of its piece."""
    frames = [(place, frame) for place, kept in enumerate(pieces) for frame in kept]
    rng.shuffle(frames)
    return frames
