"""Progress of matches, and their place in the queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from competitions.models import SampleSet
from formats.query.matches import piece_queue
from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_result import PlayedPiece
from formats.query.matches.selectors import PieceProgress, QueuePlace, progress, queue_of, worker_is_missing
from tests.platform.claims import claim_piece
from tests.platform.formats.query.matches.whole_match import ensure_match
from workers.models import Worker


class Clock(Protocol):
    def forward(self, **by: float) -> object: ...


def play_one(worker: Worker, played: Callable[[Piece], PlayedPiece], prefer: Match | None = None) -> None:
    claim = claim_piece(worker, prefer)
    assert claim is not None
    piece_queue.commit(claim, played(claim.piece))


def test_progress_and_place_in_the_queue_follow_pieces_and_live_workers(
    the_clock: Clock,
    match: Match,
    sample_sets: dict[str, SampleSet],
    make_worker: Callable[..., Worker],
    played: Callable[[Piece], PlayedPiece],
) -> None:
    younger = ensure_match(
        rules=match.rules, sample_set=sample_sets["development"], model=match.model, attack=match.attack
    )
    worker = make_worker()
    play_one(worker, played)
    assert progress([match, younger]) == PieceProgress(pieces_played=1, pieces=8)
    assert queue_of([match]) == QueuePlace(pieces_ahead=0, seconds=2 * 0.4)
    assert queue_of([younger]) == QueuePlace(pieces_ahead=2, seconds=7 * 0.4)
    make_worker("two")
    assert queue_of([younger]).seconds == 7 * 0.4 / 2
    the_clock.forward(seconds=61)
    assert queue_of([younger]) == QueuePlace(pieces_ahead=2, seconds=None)


def test_there_is_no_estimate_before_the_first_piece(match: Match, make_worker: Callable[..., Worker]) -> None:
    make_worker()
    assert queue_of([match]) == QueuePlace(pieces_ahead=0, seconds=None)


def test_a_played_match_waits_for_nothing(
    match: Match, make_worker: Callable[..., Worker], played: Callable[[Piece], PlayedPiece]
) -> None:
    worker = make_worker()
    for _ in range(3):
        play_one(worker, played)
    assert queue_of([match]) == QueuePlace(pieces_ahead=0, seconds=0.0)


def test_a_match_that_needs_a_gpu_lacks_a_worker_without_one(
    match: Match, the_clock: Clock, make_worker: Callable[..., Worker]
) -> None:
    assert worker_is_missing([match])
    make_worker()
    assert not worker_is_missing([match])
    Match.objects.update(needs_gpu=True)
    assert worker_is_missing([match])
    make_worker("two", "gpu")
    assert not worker_is_missing([match])
    the_clock.forward(seconds=61)
    assert worker_is_missing([match])
    match.pieces.update(state="played")
    assert not worker_is_missing([match])
