"""Workers play both formats: whatever waits of a round comes before the leaderboards of the other format."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from competitions.models import Competition, RulesVersion, SampleSet
from core import clock
from matches import queue as pieces
from matches.models import Match, Piece, Worker
from matches.scheduling import ensure_match
from submissions.models import Player, Submission
from tests.platform.tournaments.conftest import COPY
from tournaments import queue, services
from tournaments.models import AttackRun, Run


@pytest.fixture
def match(competition: Competition, rules: RulesVersion, sample_sets: dict[str, SampleSet]) -> Match:
    """A match for a leaderboard of the query format, which waits."""
    model, attack = (
        Player.objects.create(
            competition=competition, track_name=track, digest=f"sha256:{track}", title=track, command=["main"],
            baseline=track, created_at=clock.now(),
        )
        for track in ("model", "untargeted")
    )  # fmt: skip
    return ensure_match(rules=rules, sample_set=sample_sets["validation"], model=model, attack=attack)


@pytest.fixture
def attacked(transfer: Competition, submit: Callable[..., Submission]) -> None:
    """Runs for a leaderboard of the transfer format, which wait."""
    transfer.tracks.update(baselines=[])
    submit("owls", "attack", COPY)
    services.advance(services.make_tournament(transfer))


@pytest.fixture
def worker(db: None) -> Worker:
    return Worker.objects.create(name="host/0", worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now())


def test_pieces_of_leaderboards_wait_for_runs_of_rounds(match: Match, attacked: None, worker: Worker) -> None:
    AttackRun.objects.update(priority=Run.Priority.ROUND)
    assert pieces.claim(worker) is None
    for run in iter(lambda: queue.claim(worker.name), None):
        assert run.priority == Run.Priority.ROUND
    assert pieces.claim(worker) is not None  # none waits any more


def test_runs_of_leaderboards_wait_for_pieces_of_rounds(match: Match, attacked: None, worker: Worker) -> None:
    match.pieces.update(priority=Piece.Priority.ROUND)
    assert queue.claim(worker.name) is None
    while pieces.claim(worker) is not None:
        pass
    assert queue.claim(worker.name) is not None


def test_runs_do_not_wait_for_pieces_that_their_worker_cannot_play(
    match: Match, attacked: None, worker: Worker
) -> None:
    match.pieces.update(priority=Piece.Priority.ROUND)
    Match.objects.update(needs_gpu=True)
    assert queue.claim(worker.name) is not None


def test_rounds_of_both_formats_wait_for_nothing(match: Match, attacked: None, worker: Worker) -> None:
    match.pieces.update(priority=Piece.Priority.ROUND)
    AttackRun.objects.update(priority=Run.Priority.ROUND)
    assert pieces.claim(worker) is not None
    assert queue.claim(worker.name) is not None
