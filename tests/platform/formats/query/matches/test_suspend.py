"""Matches that are suspended, resumed and cancelled while pieces are claimed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from accounts.models import User
from competitions.models import SampleSet
from evaluation.domain.errors import StoppedError
from formats.query.matches import piece_queue
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.matches.piece_queue import Claim
from formats.query.matches.piece_result import PlayedPiece
from formats.query.matches.piece_work import pieces
from formats.query.matches.selectors import OPEN_PIECES, QueuePlace, ever_played, queue_of, worker_is_missing
from formats.query.matches.services import cancel, replay_failed, resume, suspend
from tests.platform.claims import claim_piece
from tests.platform.formats.query.matches.whole_match import ensure_match
from workers import queue
from workers.lease import Heartbeat, LostClaimError
from workers.models import Worker

Played = Callable[[Piece], PlayedPiece]


@pytest.fixture
def worker(make_worker: Callable[..., Worker]) -> Worker:
    return make_worker()


def claimed(worker: Worker) -> Claim:
    claim = claim_piece(worker)
    assert claim is not None
    return claim


def state_of(match: Match) -> str:
    match.refresh_from_db()
    return match.state


def test_a_suspended_match_is_not_claimed_until_it_is_resumed(match: Match, worker: Worker) -> None:
    assert suspend(Match.objects.all()) == 1
    assert state_of(match) == "suspended"
    assert claim_piece(worker) is None
    assert resume(Match.objects.all()) == 1
    assert state_of(match) == "waiting"
    assert claimed(worker).piece.match == match


def test_a_claimed_piece_of_a_suspended_match_is_committed(match: Match, worker: Worker, played: Played) -> None:
    claim = claimed(worker)
    suspend(Match.objects.all())
    assert claim.piece.renew()
    piece_queue.commit(claim, played(claim.piece))
    assert (state_of(match), SampleResult.objects.count()) == ("suspended", 2)
    resume(Match.objects.all())
    assert state_of(match) == "playing"
    assert claimed(worker).piece.number == 1


@pytest.mark.django_db(transaction=True)
def test_a_match_whose_last_piece_was_played_meanwhile_finishes_when_resumed(
    match: Match, worker: Worker, played: Played, notifications: list[str]
) -> None:
    claims = [claimed(worker) for _ in range(3)]
    suspend(Match.objects.all())
    for claim in claims:
        piece_queue.commit(claim, played(claim.piece))
    assert (state_of(match), piece_queue.finish_played()) == ("suspended", 0)
    notifications.clear()
    resume(Match.objects.all())
    assert (state_of(match), match.audit["replayed"]) == ("played", 12)
    assert {"leaderboards.score", "rounds.advance"} <= set(notifications)


def test_a_piece_given_up_while_its_match_is_suspended_fails_it_afterwards(match: Match, worker: Worker) -> None:
    claim = claimed(worker)
    claim.piece.faults, claim.piece.fault_hosts = 2, {"another": 2}
    suspend(Match.objects.all())
    pieces.release(claim, fault="the engine is away")
    assert (state_of(match), piece_queue.fail_given_up()) == ("suspended", 0)
    resume(Match.objects.all())
    assert piece_queue.fail_given_up() == 1
    assert state_of(match) == "failed"


@pytest.mark.parametrize("replayed_while_held", [True, False])
def test_a_failed_match_is_suspended_too(match: Match, worker: Worker, olga: User, replayed_while_held: bool) -> None:
    match.pieces.filter(number=0).update(state="failed")
    Match.objects.update(state="failed", fault="the engine is away")
    suspend(Match.objects.all())
    assert state_of(match) == "failed"
    if replayed_while_held:
        replay_failed(match, olga)
        assert state_of(match) == "suspended"
        assert claim_piece(worker) is None
    assert resume(Match.objects.all()) == int(replayed_while_held)
    if not replayed_while_held:
        replay_failed(match, olga)
    assert state_of(match) == "waiting"
    assert claimed(worker).piece.number == 0


def test_a_cancelled_match_stays_cancelled_with_claimed_pieces(match: Match, worker: Worker, played: Played) -> None:
    claim = claimed(worker)
    assert cancel(Match.objects.all()) == 1
    piece_queue.commit(claim, played(claim.piece))
    assert (state_of(match), SampleResult.objects.count()) == ("cancelled", 2)
    assert (suspend(Match.objects.all()), resume(Match.objects.all())) == (0, 0)
    assert claim_piece(worker) is None


def test_the_pieces_of_a_cancelled_match_are_taken_from_their_workers_and_wait_for_a_new_request(
    match: Match, worker: Worker, played: Played
) -> None:
    claim = claimed(worker)
    assert queue.take_back() == 0
    cancel(Match.objects.all())
    assert queue.take_back() == 1
    assert not claim.piece.renew()
    with pytest.raises(LostClaimError):
        piece_queue.commit(claim, played(claim.piece))
    assert claim_piece(worker) is None
    ensure_match(rules=match.rules, sample_set=match.sample_set, model=match.model, attack=match.attack)
    again = claimed(worker)
    assert (again.piece, again.piece.faults) == (claim.piece, 0)


def test_a_worker_stops_the_players_of_a_piece_that_it_has_lost(match: Match, worker: Worker) -> None:
    claim, heartbeat = claimed(worker), Heartbeat(seconds=0.05)
    heartbeat.hold(claim.piece)
    cancel(Match.objects.all())
    queue.take_back()
    heartbeat.beat()
    with (
        pytest.raises((StoppedError, LostClaimError)),  # also where players are ended with the session
        pieces.session(claim, heartbeat) as session,
        heartbeat.once_lost(claim.piece, session.stop),
        heartbeat,
    ):
        session.play(claim)
    assert not pieces.release(claim, fault="none")
    assert not SampleResult.objects.exists()


@pytest.mark.parametrize(
    ("state", "after"), [("played", "played"), ("failed", "cancelled"), ("suspended", "cancelled")]
)
def test_a_finished_match_is_not_cancelled(match: Match, state: str, after: str) -> None:
    Match.objects.update(state=state)
    cancel(Match.objects.all())
    assert state_of(match) == after


def test_a_suspended_match_has_no_place_in_the_queue(match: Match, worker: Worker) -> None:
    suspend(Match.objects.all())
    assert not Piece.objects.filter(OPEN_PIECES).exists()
    assert queue_of([match]) == QueuePlace(0, None)
    Worker.objects.all().delete()
    assert not worker_is_missing([match])
    cancel(Match.objects.all())
    assert queue_of([match]) == QueuePlace(0, 0.0)


def test_a_set_counts_as_played_with_its_source_and_other_draws(
    match: Match, sample_sets: dict[str, SampleSet]
) -> None:
    played, other = sample_sets["validation"], sample_sets["development"]
    assert ever_played(played)
    assert not ever_played(other)
    other.drawn_from = played
    assert ever_played(other)
    Match.objects.update(sample_set=other)
    assert not ever_played(played)
    other.save()
    assert ever_played(played)
    third = SampleSet(competition=other.competition, name="third", drawn_from=played)
    assert ever_played(third)
