"""Players without sandboxes: threads of the test, on socket pairs."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from evaluation.domain.images import ImageShape
from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.referee.fresh_model_audit import ask_fresh_model
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.results import (
    AuditReport,
    Failure,
    PieceResult,
    RefereedSample,
    sum_reports,
    with_inconsistency,
)
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.audit_after_match import with_audits
from evaluation.formats.query.runner.in_process_player import InProcessPlayer
from gauntlet import serve_attack, serve_model


@pytest.fixture
def seeded_torch() -> Iterator[None]:
    """Draws of PyTorch that are the same each time, and change those of no other test."""
    import torch  # noqa: PLC0415 - most tests here need no PyTorch

    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


RULES = QueryRules(shape=ImageShape(8, 8, 3), classes=10, query_budget=50, setup_seconds=5.0)


def brightness(images: np.ndarray) -> np.ndarray:
    """A model that a test can reason about: the class is the mean brightness in tenths."""
    classes: np.ndarray = np.minimum(images.reshape(len(images), -1).mean(axis=1) / 25.6, 9).astype(np.int64)
    return classes


def make_samples(count: int, target: int | None = None) -> list[Sample]:
    """Uniform images whose class under `brightness` is 3."""
    rng = np.random.default_rng(7)
    return [
        Sample(i, np.clip(rng.normal(90, 2, RULES.shape), 0, 255).astype(np.uint8), 3, target) for i in range(count)
    ]


class Game:
    """What a test of the referee plays with."""

    rules = RULES
    brightness = staticmethod(brightness)
    samples = staticmethod(make_samples)

    def __init__(self) -> None:
        self.played: tuple[PieceResult, ...] = ()
        """The pieces before their audit."""
        self.pieces: tuple[PieceResult, ...] = ()
        self.audit = AuditReport()
        self.failures: tuple[Failure, ...] = ()
        self.model_connection: InProcessPlayer
        self.attack_connection: InProcessPlayer

    def play(
        self,
        *,
        attack: Callable[..., Any] | None = None,
        model: Callable[[np.ndarray], Any] = brightness,
        raw_attack: Callable[[socket.socket], None] | None = None,
        raw_model: Callable[[socket.socket], None] | None = None,
        samples: Sequence[Sample] | None = None,
        rules: QueryRules = RULES,
        track: TrackName = TrackName.UNTARGETED,
        seed: int = 1,
    ) -> list[RefereedSample]:
        """One match between functions (served by the SDK) or raw socket players; the rows."""
        samples = make_samples(3) if samples is None else samples
        self.model_connection = InProcessPlayer(raw_model or (lambda s: serve_model(model, connected=s)))
        self.attack_connection = InProcessPlayer(raw_attack or (lambda s: serve_attack(attack or nothing, connected=s)))
        match = RefereedMatch(
            rules=rules, track=track, model=self.model_connection, attack=self.attack_connection, seed=seed
        )
        try:
            self.played = tuple(match.play(samples))
            failures = match.failures
        finally:
            match.close()
        kept = [piece.kept for piece in self.played if piece.kept]
        reports = ask_fresh_model(self.model_connection, track=track, rules=rules, kept=kept, seed=seed)
        self.pieces = with_audits(self.played, reports)
        self.audit = sum_reports(piece.audit for piece in self.pieces)
        self.failures = with_inconsistency(failures, self.audit)
        return [row for piece in self.pieces for row in piece.samples]


def nothing(model: Any, image: Any, label: Any, **_: Any) -> None:
    """An attack that gives up at once."""


@pytest.fixture
def game() -> Game:
    return Game()
