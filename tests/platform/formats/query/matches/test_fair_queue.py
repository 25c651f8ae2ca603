"""Workers are shared between teams: no team waits for everything that another one requested before."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import datetime
from typing import Protocol

import pytest
from django.db import connection, connections, transaction
from pytest_django import Settings

from accounts.models import Team
from competitions.models import Competition, Entry
from core import clock
from formats.query.matches import piece_queue
from formats.query.matches.match_requests import request_matches
from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_result import PlayedPiece
from formats.query.matches.piece_work import pieces
from formats.query.matches.selectors import queue_of
from submissions.models import Player
from tests.platform.claims import claim_piece
from workers.models import Priority, Worker, WorkerTime

HOUR = 3600.0


class Clock(Protocol):
    at: datetime

    def forward(self, **by: float) -> datetime: ...


class Queue:
    """Teams that request matches, and workers that play them."""

    def __init__(self, competition: Competition, match: Match, the_clock: Clock) -> None:
        self.competition = competition
        self.match = match
        self.clock = the_clock
        Match.objects.all().delete()

    def team(self, slug: str) -> Entry:
        team = Team.objects.create(slug=slug, name=slug.title(), created_at=clock.now())
        return Entry.objects.create(team=team, competition=self.competition, joined_at=clock.now())

    def player(self, kind: str) -> Player:
        number = Player.objects.count()
        return Player.objects.create(
            competition=self.competition,
            track_name=kind,
            digest=f"sha256:{number:064x}",
            title=f"player {number}",
            command=["python", "main.py"],
            baseline="none",
            created_at=clock.now(),
        )

    def requests(self, entry: Entry | None, matches: int = 1, repetition: int = 0) -> list[Match]:
        """Request new matches of three pieces each, a second after all earlier ones."""
        asked = []
        for _ in range(matches):
            self.clock.forward(seconds=1)
            asked += self.request_matches([(self.player("model"), self.match.attack)], entry, repetition=repetition)
        return asked

    def request_matches(
        self,
        pairs: list[tuple[Player, Player]],
        entry: Entry | None,
        *,
        priority: Priority = Priority.BOARD,
        repetition: int = 0,
    ) -> list[Match]:
        return request_matches(
            rules=self.match.rules,
            sample_set=self.match.sample_set,
            pairs=pairs,
            upto=self.match.sample_set.count,
            entry=entry,
            priority=priority,
            repetition=repetition,
        )

    def spent(self, entry: Entry | None, seconds: float) -> None:
        hour = self.clock.at.replace(minute=0, second=0, microsecond=0)
        WorkerTime.objects.create(role="play", entry=entry, hour=hour, seconds=seconds)


@pytest.fixture
def teams(competition: Competition, match: Match, the_clock: Clock) -> Queue:
    return Queue(competition, match, the_clock)


@pytest.fixture
def play(
    teams: Queue, make_worker: Callable[..., Worker], played: Callable[[Piece], PlayedPiece]
) -> Callable[..., str]:
    """Let one worker play the next piece for some seconds; return the team."""
    worker = make_worker("one")

    def play_next(seconds: float = 10.0) -> str:
        claim = claim_piece(worker)
        assert claim is not None
        teams.clock.forward(seconds=seconds)
        assert claim.piece.renew()
        piece_queue.commit(claim, played(claim.piece))
        return claim.piece.entry.team.slug if claim.piece.entry else "none"

    return play_next


def claims(worker: Worker, number: int) -> list[str]:
    """Return the teams of the next pieces that a worker claims together."""
    held = [claim_piece(worker) for _ in range(number)]
    return [claim.piece.entry.team.slug if claim.piece.entry else "none" for claim in held if claim is not None]


def test_two_teams_take_turns(teams: Queue, play: Callable[..., str]) -> None:
    owls, newts = teams.team("owls"), teams.team("newts")
    teams.requests(owls, 12)
    teams.requests(newts)
    assert [play() for _ in range(7)] == ["owls", "newts", "owls", "newts", "owls", "newts", "owls"]
    assert WorkerTime.objects.get(entry=owls).seconds == 40.0


def test_workers_are_shared_evenly(teams: Queue, make_worker: Callable[..., Worker]) -> None:
    owls, newts, rats = (teams.team(slug) for slug in ("owls", "newts", "rats"))
    for entry, matches in ((owls, 9), (newts, 3), (rats, 1)):
        teams.requests(entry, matches)
    assert sorted(claims(make_worker(), 9)) == ["newts"] * 3 + ["owls"] * 3 + ["rats"] * 3


def test_a_team_with_long_pieces_gets_no_more_time(teams: Queue, play: Callable[..., str]) -> None:
    slow, quick = teams.team("slow"), teams.team("quick")
    teams.requests(slow, 4)
    teams.requests(quick, 4)
    assert play(seconds=25.0) == "slow"
    assert [play(seconds=5.0) for _ in range(5)] == ["quick"] * 5
    assert play(seconds=25.0) == "slow", "both had 25 seconds, and its pieces are older"


def test_using_idle_workers_earlier_costs_nothing_later(teams: Queue, play: Callable[..., str]) -> None:
    owls, newts = teams.team("owls"), teams.team("newts")
    teams.spent(owls, 5 * HOUR)
    teams.clock.forward(hours=2)
    teams.requests(owls, 2)
    teams.requests(newts, 2)
    assert [play() for _ in range(4)] == ["owls", "newts", "owls", "newts"]


def test_a_team_above_its_daily_share_comes_after_the_others(
    teams: Queue, play: Callable[..., str], settings: Settings
) -> None:
    settings.TEAM_WORKER_SECONDS = 20
    owls, newts = teams.team("owls"), teams.team("newts")
    teams.requests(owls, 3)
    assert [play() for _ in range(3)] == ["owls"] * 3, "no worker idles for it"
    teams.clock.forward(hours=3)
    teams.requests(newts, 2)
    assert queue_of(Match.objects.filter(pieces__entry=owls, pieces__state="waiting").distinct()).pieces_ahead == 6
    assert [play() for _ in range(3)] == ["newts", "newts", "owls"], "then both are past it"
    teams.clock.forward(hours=21)
    assert [play() for _ in range(2)] == ["owls", "newts"], "what the owls used first is a day ago"


def test_a_claimed_piece_counts_towards_the_share(
    teams: Queue, make_worker: Callable[..., Worker], settings: Settings
) -> None:
    settings.TEAM_WORKER_SECONDS = 20
    owls, newts = teams.team("owls"), teams.team("newts")
    teams.requests(owls, 2)
    assert claims(make_worker(), 1) == ["owls"]
    teams.requests(newts, 2)
    teams.clock.forward(seconds=20)
    assert claims(make_worker("two"), 2) == ["newts", "newts"]


def test_rounds_come_first_and_count_for_no_team(teams: Queue, play: Callable[..., str], settings: Settings) -> None:
    settings.TEAM_WORKER_SECONDS = 1
    owls = teams.team("owls")
    teams.requests(owls, 2)
    teams.request_matches([(teams.player("model"), teams.match.attack)], None, priority=Priority.ROUND)
    assert [play() for _ in range(4)] == ["none", "none", "none", "owls"]
    assert set(WorkerTime.objects.values_list("entry", flat=True)) == {owls.pk}


def test_rejudgings_have_the_share_of_one_team(teams: Queue, play: Callable[..., str], settings: Settings) -> None:
    settings.TEAM_WORKER_SECONDS = 100
    teams.spent(None, 200.0)
    teams.clock.forward(hours=2)
    teams.requests(None, 2, repetition=1)
    teams.requests(teams.team("owls"), 2)
    assert [play() for _ in range(4)] == ["none", "owls", "none", "owls"], "no limit"


def test_low_priority_waits_an_hour_for_other_teams(teams: Queue, play: Callable[..., str]) -> None:
    owls, house = teams.team("owls"), teams.team("house")
    (late,) = teams.requests(house)
    late.pieces.update(queued_at=teams.clock.at + Piece.LEASE * 120)
    teams.requests(owls, 2)
    assert [play() for _ in range(2)] == ["owls"] * 2
    teams.clock.forward(hours=1)
    assert [play() for _ in range(2)] == ["house"] * 2


@pytest.mark.parametrize(("first", "then", "payer"), [(0.0, 9.0, "owls"), (9.0, 0.0, "newts")])
def test_a_piece_of_two_teams_counts_for_the_one_that_used_less(
    teams: Queue, play: Callable[..., str], first: float, then: float, payer: str
) -> None:
    owls, newts = teams.team("owls"), teams.team("newts")
    teams.spent(owls, first)
    teams.spent(newts, then)
    pair = [(teams.player("model"), teams.match.attack)]
    teams.request_matches(pair, owls)
    teams.request_matches(pair, newts)
    assert [play() for _ in range(3)] == [payer] * 3


def test_pieces_of_a_round_come_first(teams: Queue, play: Callable[..., str]) -> None:
    owls = teams.team("owls")
    teams.requests(owls)
    pair = [(teams.player("model"), teams.match.attack)]
    teams.request_matches(pair, owls)
    teams.request_matches(pair, None, priority=Priority.ROUND)
    teams.request_matches(pair, owls)
    assert [play() for _ in range(4)] == ["none"] * 3 + ["owls"]


def test_the_place_in_the_queue_counts_each_team_equally(teams: Queue) -> None:
    owls, newts = teams.team("owls"), teams.team("newts")
    many = teams.requests(owls, 5)
    few = teams.requests(newts, 2)
    assert [queue_of([match]).pieces_ahead for match in few] == [0, 6]
    assert [queue_of([match]).pieces_ahead for match in many] == [0, 6, 12, 9 + 6, 12 + 6]


def test_a_claim_takes_a_constant_number_of_queries(
    teams: Queue, make_worker: Callable[..., Worker], django_assert_max_num_queries: Callable[..., object]
) -> None:
    worker = make_worker()
    for number in range(5):
        teams.requests(teams.team(f"team-{number}"), 4)
    claims(worker, 5)
    with django_assert_max_num_queries(24):  # type: ignore[attr-defined]
        assert len(claims(worker, 1)) == 1


@pytest.mark.django_db(transaction=True)
def test_a_team_whose_pieces_are_being_claimed_is_skipped(
    teams: Queue, make_worker: Callable[..., Worker], notifications: list[str]
) -> None:
    """On a database with row locks; on others one claim waits for the other."""
    owls, newts = teams.team("owls"), teams.team("newts")
    teams.requests(owls)
    teams.requests(newts)
    worker, locks = make_worker(), connection.features.has_select_for_update_skip_locked

    def claim_meanwhile() -> list[str]:
        try:
            return claims(worker, 1)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as thread, transaction.atomic() if locks else nullcontext():
        if locks:
            list(Piece.objects.select_for_update().filter(entry=owls))
        assert thread.submit(claim_meanwhile).result() == ["newts" if locks else "owls"]


def test_a_lost_piece_counts_for_no_team(teams: Queue, make_worker: Callable[..., Worker]) -> None:
    teams.requests(teams.team("owls"))
    claims(make_worker(), 1)
    teams.clock.forward(seconds=31)
    assert pieces.expire() == 1
    assert not WorkerTime.objects.exists()
