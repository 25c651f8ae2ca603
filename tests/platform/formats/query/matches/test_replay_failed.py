"""A failed match is replayed, whatever happens to its other pieces meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta

import pytest
from django.db import connections, transaction

from accounts.models import User
from core import clock
from formats.query.matches.models import Match
from formats.query.matches.piece_queue import Claim
from formats.query.matches.piece_work import pieces
from formats.query.matches.services import replay_failed
from tests.platform.claims import claim_piece
from workers.models import Worker

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_piece_given_up_meanwhile_does_not_leave_its_match_open(
    match: Match, olga: User, make_worker: Callable[..., Worker]
) -> None:
    claim = claim_piece(make_worker())
    assert claim is not None
    match.pieces.filter(number=0).update(faults=2)
    claim.piece.faults, claim.piece.fault_hosts = 2, {"another": 2}
    match.pieces.filter(number=1).update(state="failed")
    Match.objects.update(state="failed", fault="the engine is away", finished_at=clock.now() - timedelta(minutes=1))

    def give_up(held: Claim) -> None:
        try:
            pieces.release(held, fault="the engine is away")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            replay_failed(match, olga)
            third_fault = pool.submit(give_up, claim)
            wait([third_fault], timeout=1.0)  # it ends in time only if it does not wait for the replay
        third_fault.result()
    match.refresh_from_db()
    assert match.pieces.get(number=0).state == "failed"
    assert (match.state, match.pieces.get(number=1).state) == ("failed", "waiting")
