"""Submissions of 2018 that the project wrote itself, in the layouts of real ones, and how a test plays them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.domain.images import ImageShape
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.referee.player_interface import PlayerConnection
from evaluation.formats.query.results import Failure, RefereedSample
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.in_process_player import InProcessPlayer
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.formats.query.submissions_2018.builders import LegacyBuilder
from evaluation.legacy.environment import LegacyEnvironment
from evaluation.sandbox.base import Resources
from evaluation.sandbox.process_sandbox import ProcessSandbox
from gauntlet import serve_attack, serve_model
from tests.evaluation.conftest import brightness

REPOSITORIES = Path(__file__).resolve().parents[2] / "repos" / "avc2018"
RULES = QueryRules(shape=ImageShape(8, 8, 3), classes=10, query_budget=20, setup_seconds=60.0)


@pytest.fixture
def environment() -> LegacyEnvironment:
    """The interpreter of the tests in place of a legacy environment: its packages are newer than 2018."""
    return LegacyEnvironment(Path(sys.prefix))


@pytest.fixture
def build(environment: LegacyEnvironment) -> Callable[[str], QueryPlayer]:
    """Builds the look-alike of a name."""
    return lambda name: LegacyBuilder(NoBuilder(), environment).build(REPOSITORIES / name, on_log=print)


class NoBuilder(LegacyBuilder):
    """The usual builder of a test that builds nothing of today."""

    def __init__(self) -> None:
        super().__init__(self, None)


@dataclass
class Played:
    """The outcome of a match: its rows, failures, and what the player printed."""

    rows: list[RefereedSample]
    failures: tuple[Failure, ...]
    log: str


@pytest.fixture
def play(build: Callable[[str], QueryPlayer]) -> Callable[..., Played]:
    """Plays a look-alike against a model, or an attack, that is a function of the test."""

    def run(name: str, *, count: int = 3, rules: QueryRules = RULES, model: Any = brightness) -> Played:
        player = build(name)
        seen = SandboxedPlayer(ProcessSandbox(bubblewrapped=False), player, Resources())
        its_model: PlayerConnection = InProcessPlayer(lambda connected: serve_model(model, connected=connected))
        its_attack: PlayerConnection = seen
        track = player.track
        if track is TrackName.MODEL:
            its_model, track = seen, TrackName.UNTARGETED
            its_attack = InProcessPlayer(lambda connected: serve_attack(brighten, connected=connected))
        match = RefereedMatch(rules=rules, track=track, model=its_model, attack=its_attack, seed=1, fresh_audit=False)
        try:
            rows = [row for piece in match.play(samples(count, track)) for row in piece.samples]
            failures = match.failures
        finally:
            match.close()
        assert {failure.side for failure in failures} <= {player.track.side}, "the other side failed"
        return Played(rows, failures, "".join(seen.logs))

    return run


def samples(count: int, track: TrackName) -> list[Sample]:
    """Images of class 3 under `brightness`, each of another pattern; a targeted attack is to reach class 7."""
    rng = np.random.default_rng(7)
    target = 7 if track is TrackName.TARGETED else None
    images = [np.clip(rng.normal(90, 15, RULES.shape), 0, 255).astype(np.uint8) for _ in range(count)]
    return [Sample(number, image, 3, target) for number, image in enumerate(images)]


def brighten(model: Any, image: np.ndarray, label: Any, **_: Any) -> None:
    """An attack that makes images brighter."""
    for step in (20, 60, 100):
        model(image.astype(float) + step)
