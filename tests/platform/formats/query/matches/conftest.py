"""Fixtures of match tests: players, workers, pieces played by hand, and recorded notifications."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from competitions.models import Competition, RulesVersion, SampleSet
from core import clock, worker_notifications
from evaluation.formats.query.results import AuditReport, Outcome, RefereedSample
from formats.query.matches import player_builds
from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_result import PlayedPiece
from repositories.models import Repository
from submissions.models import Player, Submission
from tests.platform.formats.query.matches.whole_match import ensure_match
from workers.heartbeat import WorkerHeartbeat
from workers.models import Worker
from workers.worker_loop import play as play_work

COUNTS = AuditReport(replayed=4, judged=2)


@pytest.fixture(autouse=True)
def notifications(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The notifications sent; there is no broker."""
    sent: list[str] = []
    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: sent.append(task))
    return sent


@pytest.fixture
def model(competition: Competition) -> Player:
    """A bundled model that starts quickly."""
    return player_builds.baseline_player(competition.tracks.get(name="model"), "numpy-classifier", lambda line: None)


@pytest.fixture
def attack(competition: Competition) -> Player:
    """A bundled attack."""
    return player_builds.baseline_player(competition.tracks.get(name="untargeted"), "gaussian-noise", lambda line: None)


@pytest.fixture
def commit(repositories: dict[str, Repository], root: Path, tmp_path: Path) -> Callable[[str, str], Player]:
    """Commit a folder of tests/repos to the Owls' repository of a track and build it."""

    def commit(track: str, name: str) -> Player:
        repository, work = repositories[track], tmp_path / name
        shutil.copytree(root / "tests/repos" / name, work, ignore=shutil.ignore_patterns("__pycache__"))
        repository.path.parent.mkdir(parents=True, exist_ok=True)
        for words in (
            ["init", "--quiet", "--bare", str(repository.path)],
            ["init", "--quiet"],
            ["add", "--all"],
            ["-c", "user.name=Alice", "-c", "user.email=alice@example.org", "commit", "--quiet", "--message", name],
            ["push", "--quiet", str(repository.path), "HEAD:refs/heads/main"],
        ):
            subprocess.run(["git", *words], cwd=work, check=True, capture_output=True)
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=work, check=True, capture_output=True, text=True)
        submission = Submission(repository=repository, commit=head.stdout.strip())
        return player_builds.build(submission, lambda line: None)

    return commit


@pytest.fixture
def match(rules: RulesVersion, sample_sets: dict[str, SampleSet], model: Player, attack: Player) -> Match:
    """A waiting match of six samples in three pieces."""
    return ensure_match(rules=rules, sample_set=sample_sets["validation"], model=model, attack=attack)


@pytest.fixture
def make_worker(db: None) -> Callable[..., Worker]:
    """Create workers by name."""

    def make(name: str = "one", worker_class: str = "cpu") -> Worker:
        now = clock.now()
        return Worker.objects.create(name=name, worker_class=worker_class, started_at=now, last_seen_at=now)

    return make


@pytest.fixture
def played() -> Callable[[Piece], PlayedPiece]:
    """Return a possible result of playing a piece."""

    def play(piece: Piece) -> PlayedPiece:
        rows = tuple(
            RefereedSample(
                sample=sample,
                label=3,
                target=None,
                outcome=Outcome.ADVERSARIAL,
                distance=1.5,
                worst_case=9.0,
                queries=50,
                seconds=0.2,
                reason=None,
                found_label=4,
            )
            for sample in range(piece.first, piece.first + piece.count)
        )
        return PlayedPiece(samples=rows, seconds=0.4, audit=COUNTS, failures=[], artefact="a" * 64)

    return play


@pytest.fixture
def let_play() -> Callable[..., None]:
    """Let a worker play as the task does."""

    def play(worker: Worker, seconds: float = 60.0) -> None:
        with WorkerHeartbeat(worker) as heartbeat:
            play_work(worker, heartbeat, seconds=seconds)

    return play
