"""Channels between instances of one model: open where they could be used, closed where its audit runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.builder.choose_builder import choose_builder
from evaluation.datasets.load import load_dataset
from evaluation.domain.kept_frames import KeptFrames
from evaluation.domain.players import Player, Track
from evaluation.domain.results import AuditReport, sum_reports
from evaluation.domain.rules import QueryRules
from evaluation.referee.fresh_instance import ask_fresh_model
from evaluation.referee.match import Match
from evaluation.runner.audit import audit_model
from evaluation.runner.sandboxed_player import SandboxedPlayer
from evaluation.sandbox.base import Resources, Sandbox
from evaluation.sandbox.bubblewrap import bubblewrap_works
from evaluation.sandbox.docker import DockerSandbox
from evaluation.sandbox.process import ProcessSandbox

REPOSITORIES = Path(__file__).resolve().parents[2] / "repos"
RULES = QueryRules(classes=10, query_budget=60, setup_seconds=60.0, attack_seconds_per_sample=10.0)
RESOURCES = Resources(memory_bytes=512 << 20, processes=64, scratch_bytes=32 << 20, log_bytes=64 << 10)

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(params=["process", pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.slow(30)])])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    if request.param == "docker":
        return DockerSandbox()
    if not bubblewrap_works():
        pytest.fail("bubblewrap does not work on this host")
    return ProcessSandbox()


class Match60:
    """A played match of one model, and the audits of its kept frames."""

    def __init__(self, sandbox: Sandbox, name: str) -> None:
        self.sandbox = sandbox
        builder = choose_builder(sandbox.name)
        self.model: Player = builder.build(REPOSITORIES / name, on_log=lambda line: None)
        self._attack = builder.build(REPOSITORIES / "players" / "honest-attack", on_log=lambda line: None)
        self.kept: list[KeptFrames] = []

    @contextmanager
    def played(self) -> Iterator[None]:
        """Play, and keep the instance that played alive inside the block."""
        match = Match(
            rules=RULES,
            track=Track.UNTARGETED,
            model=SandboxedPlayer(self.sandbox, self.model, RESOURCES),
            attack=SandboxedPlayer(self.sandbox, self._attack, RESOURCES),
            seed=8,
        )
        try:
            samples = list(load_dataset("digits").samples("dev")[1:4])
            self.kept = [piece.kept for piece in match.play(samples) if piece.kept]
            yield
        finally:
            match.close()

    def audit(self, *, level_caches: bool) -> AuditReport:
        """The audit as it is: alone, on a copy of the files."""
        return sum_reports(
            audit_model(
                model=self.model,
                track=Track.UNTARGETED,
                rules=RULES,
                kept=self.kept,
                sandbox=self.sandbox,
                seed=1,
                resources=RESOURCES,
                level_caches=level_caches,
                wait=False,
            )
        )

    def audit_beside(self) -> AuditReport:
        """An audit beside the instance that played, on the same files."""
        beside = SandboxedPlayer(self.sandbox, self.model, RESOURCES)
        return sum_reports(ask_fresh_model(beside, track=Track.UNTARGETED, rules=RULES, kept=self.kept, seed=1))


def test_notes_in_locks_end_with_the_instance_that_played(sandbox: Sandbox) -> None:
    match = Match60(sandbox, "cheats/model-passes-notes-by-locks")
    with match.played():
        beside = match.audit_beside()
    if isinstance(sandbox, ProcessSandbox):  # containers see files of their own here
        assert beside.fresh_changed == 0
    assert match.audit(level_caches=False).stateful


def test_notes_in_the_page_cache_outlive_the_instance_but_not_the_levelling(sandbox: Sandbox) -> None:
    match = Match60(sandbox, "cheats/model-passes-notes-by-page-cache")

    def reads_the_notes() -> bool:
        with match.played():
            pass
        return not match.audit(level_caches=False).stateful

    with match.played():
        pass
    if isinstance(sandbox, ProcessSandbox):  # in a container only the clock can read them, with errors
        assert any(reads_the_notes() for _ in range(3))  # another test may drop the pages of the host's files meanwhile
    assert match.audit(level_caches=True).stateful


def test_an_honest_model_passes(sandbox: Sandbox) -> None:
    match = Match60(sandbox, "players/honest-model")
    with match.played():
        pass
    report = match.audit(level_caches=True)
    assert report.passed
    assert report.fresh > 30
    assert (report.changed, report.fresh_changed) == (0, 0)
    assert replace(report, replayed=0, fresh=0, alone=0) == AuditReport()
