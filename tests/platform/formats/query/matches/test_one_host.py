"""Faults on one host: the piece waits, longer each time, and is an incident; two hosts or an organiser give it up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings

from accounts.models import User
from core.errors import Refusal
from core.models import Event
from formats.query.matches import piece_queue
from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_work import pieces
from formats.query.matches.selectors import stuck_pieces
from submissions.models import Player
from tests.platform.claims import claim_piece
from tests.platform.conftest import FakeClock
from workers.fault_record import PAUSES
from workers.models import Host, Worker

MakeWorker = Callable[..., Worker]


@pytest.fixture
def one(the_clock: FakeClock, make_worker: MakeWorker) -> Worker:
    return make_worker("arena-1/0")


def claimed(worker: Worker) -> piece_queue.Claim:
    claim = claim_piece(worker)
    assert claim is not None
    return claim


@pytest.fixture
def piece(match: Match) -> Piece:
    """The only piece of a match."""
    match.pieces.filter(number__gt=0).delete()
    return match.pieces.get()


def test_on_one_host_a_piece_waits_longer_after_each_fault(
    piece: Piece, one: Worker, the_clock: FakeClock, make_worker: MakeWorker
) -> None:
    waits = []
    for number in range(6):
        pieces.release(claimed(one), fault="the engine is away")
        piece.refresh_from_db()
        assert (piece.state, piece.faults, piece.fault_hosts) == ("waiting", number + 1, {"arena-1": number + 1})
        assert claim_piece(one) is None
        assert piece.paused_until is not None
        waits.append(piece.paused_until - the_clock.at)
        assert stuck_pieces().exists() == (number >= 2)
        the_clock.at = piece.paused_until
    assert waits == [*PAUSES, PAUSES[-1], PAUSES[-1]]
    pieces.release(claimed(make_worker("arena-2/0")), fault="the engine is away")
    piece.refresh_from_db()
    assert (piece.state, piece.match.state) == ("failed", "failed")
    assert "after 7 platform errors on arena-1, arena-2; the last: the engine is away" in piece.match.fault


def test_slots_of_one_host_are_one_host(
    piece: Piece, one: Worker, the_clock: FakeClock, make_worker: MakeWorker
) -> None:
    for worker in (one, make_worker("arena-1/1"), make_worker("arena-1/2")):
        pieces.release(claimed(worker), fault="the engine is away")
        the_clock.forward(hours=1)
    piece.refresh_from_db()
    assert (piece.state, piece.fault_hosts) == ("waiting", {"arena-1": 3})


def test_a_piece_that_kills_its_worker_again_and_again_is_an_incident(
    piece: Piece, one: Worker, the_clock: FakeClock, make_worker: MakeWorker
) -> None:
    waits = []
    for _ in range(4):
        claimed(one)
        the_clock.forward(seconds=31)
        assert pieces.expire() == 1
        piece.refresh_from_db()
        waits.append(piece.paused_until and piece.paused_until - the_clock.at)
        the_clock.forward(hours=1)
    assert waits == [None, *PAUSES[:3]]
    assert list(stuck_pieces()) == [piece]
    claimed(make_worker("arena-2/0"))
    the_clock.forward(seconds=31)
    pieces.expire()
    piece.refresh_from_db()
    assert piece.state == "failed"


def test_failures_of_hosts_do_not_count(piece: Piece, the_clock: FakeClock, make_worker: MakeWorker) -> None:
    workers = [make_worker(f"arena-{number}/0") for number in range(4)]
    waits = []
    for worker in workers:
        pieces.release(claimed(worker), fault="no such object", host_failed=True)
        piece.refresh_from_db()
        waits.append(piece.paused_until and piece.paused_until - the_clock.at)
        the_clock.forward(hours=1)
    assert (piece.state, piece.faults, piece.host_faults, piece.fault_hosts) == ("waiting", 0, 4, {})
    assert waits == [None, *PAUSES[:3]]
    assert list(stuck_pieces()) == [piece]


def test_an_organiser_gives_it_up_or_lets_it_be_tried_now(piece: Piece, one: Worker, olga: User) -> None:
    with pytest.raises(Refusal, match="does not wait after a fault"):
        pieces.give_up(piece, olga, "it is broken")
    pieces.release(claimed(one), fault="the engine is away")
    assert claim_piece(one) is None
    pieces.retry_now(piece, olga, "the engine is back")
    held = claimed(one)
    assert (held.piece.faults, held.piece.fault_hosts) == (0, {})
    pieces.release(held, fault="the engine is away")
    pieces.give_up(piece, olga, "it is broken")
    piece.refresh_from_db()
    assert (piece.state, piece.match.fault) == ("failed", "piece 0 was given up by an organiser: it is broken")
    assert Event.objects.get(verb="give_up").by == olga
    with pytest.raises(Refusal, match="does not wait after a fault"):
        pieces.retry_now(piece, olga)


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow(10)
def test_a_piece_survives_a_host_without_the_site_s_files(
    match: Match,
    commit: Callable[[str, str], Player],
    make_worker: MakeWorker,
    let_play: Callable[..., None],
    settings: Settings,
    tmp_path: Path,
) -> None:
    """A copy of the state folder that was made too early: identity and samples are there, a repository is not."""
    Match.objects.update(attack=commit("untargeted", "site/attack-slow"))
    repositories, checkouts = settings.REPOSITORIES, settings.CHECKOUTS
    settings.REPOSITORIES, settings.CHECKOUTS = tmp_path / "copy", tmp_path / "other-checkouts"
    settings.WORKER_NAME = "arena-2"
    bad = make_worker("arena-2/0")
    for _ in range(4):
        let_play(bad, seconds=0.0)
        Host.objects.filter(out_since__isnull=False).update(check_due_at="2026-11-21T12:00:00Z")
        Piece.objects.update(paused_until=None)
    host = Host.objects.get()
    assert "this host does not have the commit" in host.problem
    assert set(Piece.objects.values_list("state", "faults")) == {("waiting", 0)}

    settings.REPOSITORIES, settings.CHECKOUTS = repositories, checkouts
    settings.WORKER_NAME = "arena-1"
    let_play(make_worker("arena-1/0"))
    match.refresh_from_db()
    assert (match.state, match.fault) == ("played", "")
