"""A competition that is archived while a worker plays: the piece counts, and the next one waits."""

from __future__ import annotations

from collections.abc import Callable

from competitions.models import Competition
from core import clock
from formats.query.matches import piece_queue
from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_result import PlayedPiece
from tests.platform.claims import claim_piece
from workers.models import Worker


def test_a_piece_in_play_is_committed_and_the_next_waits_until_the_competition_is_taken_back(
    match: Match, make_worker: Callable[..., Worker], played: Callable[[Piece], PlayedPiece]
) -> None:
    worker = make_worker("one")
    first = claim_piece(worker)
    assert first is not None
    Competition.objects.update(archived_at=clock.now())
    piece_queue.commit(first, played(first.piece))
    assert Piece.objects.get(pk=first.piece.pk).state == Piece.State.PLAYED
    assert claim_piece(worker, match) is None
    Competition.objects.update(archived_at=None)
    following = claim_piece(worker, match)
    assert following is not None
    assert following.piece.number == first.piece.number + 1
