"""What the tests of the transfer format share: small images, and submissions that are shell scripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from evaluation.domain.images import ImageShape
from evaluation.domain.samples import Sample
from evaluation.formats.transfer.rules import TransferRules
from evaluation.formats.transfer.runner.match_result import TransferResult
from evaluation.formats.transfer.runner.play_match import TransferMatch, play
from evaluation.formats.transfer.runner.player_build import build_player
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.legacy.environment import VARIABLE
from evaluation.sandbox.base import Resources
from evaluation.sandbox.process_sandbox import ProcessSandbox

Make = Callable[..., TransferPlayer]

RULES = TransferRules(shape=ImageShape(8, 8, 3), classes=10, batch_images=3, epsilons=(4, 16), batch_seconds=20.0)


@pytest.fixture(autouse=True)
def _no_legacy_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this host has: a test that needs a legacy environment names its own."""
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def rules() -> TransferRules:
    """Rules for images of 8 x 8 pixels and ten classes, in batches of three."""
    return RULES


@pytest.fixture
def samples() -> list[Sample]:
    """Five different images; the label of each is its number, the target the next one."""
    random = np.random.default_rng(0)
    return [Sample(i, random.integers(0, 256, (8, 8, 3), np.uint8), i, i + 1, f"image {i}") for i in range(5)]


@pytest.fixture
def repository(tmp_path: Path) -> Callable[..., Path]:
    """Makes the repository of a submission from the text of its entry point."""

    def make(script: str, kind: str = "attack", name: str = "any") -> Path:
        directory = tmp_path / "repositories" / name
        directory.mkdir(parents=True)
        metadata = {"type": kind, "container": "some/image:1", "entry_point": "run.sh"}
        (directory / "metadata.json").write_text(json.dumps(metadata))
        (directory / "run.sh").write_text(f"#!/bin/sh\n{script}\n")
        (directory / "run.sh").chmod(0o755)
        return directory

    return make


@pytest.fixture
def submission(repository: Callable[..., Path]) -> Make:
    """Makes a player from the text of its entry point."""

    def make(script: str, kind: str = "attack", name: str = "any") -> TransferPlayer:
        return build_player(repository(script, kind, name), sandbox="process", on_log=lambda line: None)

    return make


@pytest.fixture
def sandbox(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProcessSandbox:
    """The process sandbox with a register of its own; a test may ask for the one without bubblewrap."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return ProcessSandbox(bubblewrapped=getattr(request, "param", None))


@pytest.fixture
def played(sandbox: ProcessSandbox, tmp_path: Path, samples: list[Sample]) -> Callable[..., TransferResult]:
    """Plays attacks against defences in the directory `out`."""

    def run(
        attacks: Sequence[TransferPlayer],
        defences: Sequence[TransferPlayer],
        rules: TransferRules = RULES,
        workers: int = 1,
    ) -> TransferResult:
        match = TransferMatch(rules, attacks, defences, samples, seed=0, workers=workers)
        return play(
            match,
            sandbox=sandbox,
            directory=tmp_path / "out",
            resources=Resources(scratch_bytes=8 << 20),
            on_batch=lambda batch: None,
            on_log=lambda player, log: None,
        )

    return run
