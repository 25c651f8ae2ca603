"""Evaluations of a team do not wait for all earlier submissions of another team."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accounts.models import User
from competitions.models import Entry
from core import clock
from formats.query.leaderboards import services
from formats.query.leaderboards.models import Pool
from formats.query.matches.models import Match
from tests.platform.claims import claim_piece
from workers.models import Worker

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture


@pytest.fixture
def worker(db: None) -> Worker:
    now = clock.now()
    return Worker.objects.create(name="one", worker_class="cpu", started_at=now, last_seen_at=now)


def team_of(match: Match) -> str:
    repository = match.model.repository
    assert repository is not None
    return repository.entry.team.slug


def test_pieces_of_two_teams_are_claimed_in_turn_however_many_evaluations_one_has(
    env: BoardFixture, the_clock: FakeClock, entry: Entry, alice: User, attack_pool: Pool, worker: Worker
) -> None:
    for _ in range(6):
        services.evaluate(env.submission(entry, "model", alice))
    the_clock.forward(minutes=1)
    services.evaluate(env.submission(env.entry("newts"), "model", alice))
    claims = [claim_piece(worker) for _ in range(4)]
    assert [team_of(claim.piece.match) for claim in claims if claim] == ["owls", "newts", "owls", "newts"]


def test_a_team_of_low_priority_waits(
    env: BoardFixture, the_clock: FakeClock, entry: Entry, alice: User, attack_pool: Pool, worker: Worker
) -> None:
    Entry.objects.update(low_priority=True)
    services.evaluate(env.submission(Entry.objects.get(pk=entry.pk), "model", alice))
    the_clock.forward(minutes=1)
    services.evaluate(env.submission(env.entry("newts"), "model", alice))
    claims = [claim_piece(worker) for _ in range(3)]
    assert [team_of(claim.piece.match) for claim in claims if claim] == ["newts"] * 3
