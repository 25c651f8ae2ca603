"""Workers play both formats from one queue: priority, then fair share between teams, then age."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest
from pytest_django import Settings

from accounts.models import User
from core import clock
from core.extension_point import ExtensionPoint
from formats.query.challenges.models import Challenge
from formats.query.matches.models import Match
from formats.transfer.tournaments.models import AttackRun
from formats.transfer.tournaments.run_work import runs
from repositories.models import Repository
from submissions.build_order import BUILD
from tests.platform.conftest import FakeClock
from tests.platform.formats.query.challenges.requests import other_team, request_challenges
from workers import queue, tasks
from workers.models import Priority, Worker, WorkerTime
from workers.work_kind_interface import kinds


def claims(worker: Worker) -> list[str]:
    """Claim until nothing waits; return the kinds in order."""
    return [claimed.kind.name for claimed in iter(lambda: queue.claim(worker), None)]


def test_runs_of_rounds_come_before_pieces_of_leaderboards(match: Match, attacked: None, worker: Worker) -> None:
    AttackRun.objects.update(priority=Priority.ROUND)
    order = claims(worker)
    assert order == ["runs"] * AttackRun.objects.count() + ["pieces"] * match.pieces.count()


def test_pieces_of_rounds_come_before_runs_of_leaderboards(match: Match, attacked: None, worker: Worker) -> None:
    match.pieces.update(priority=Priority.ROUND)
    order = claims(worker)
    assert order == ["pieces"] * match.pieces.count() + ["runs"] * AttackRun.objects.count()


def test_a_worker_passes_over_pieces_that_it_cannot_play(match: Match, attacked: None, worker: Worker) -> None:
    match.pieces.update(priority=Priority.ROUND)
    Match.objects.update(needs_gpu=True)
    assert claims(worker) == ["runs"] * AttackRun.objects.count()


def test_workers_claim_only_what_their_role_is_for(
    match: Match, attacked: None, submitted: None, worker: Worker
) -> None:
    """A submission that waits for a build neither keeps a player busy nor counts as work of one."""
    assert set(claims(worker)) == {"runs", "pieces"}
    assert not queue.anything_waits()
    building = [claimed.kind.name for claimed in iter(lambda: queue.claim(worker, BUILD), None)]
    assert building == ["builds", "builds"]


def test_of_two_rounds_the_older_work_goes_first(match: Match, attacked: None, worker: Worker) -> None:
    match.pieces.update(priority=Priority.ROUND)
    AttackRun.objects.update(priority=Priority.ROUND, queued_at=clock.now() - timedelta(hours=1))
    assert claims(worker)[0] == "runs"


def test_a_team_that_used_the_workers_in_one_format_waits_in_the_other(
    match: Match, attacked: None, worker: Worker
) -> None:
    """The leaderboard of baselines, which belongs to no team, has used nothing."""
    hour = clock.database_now().replace(minute=0, second=0, microsecond=0)
    WorkerTime.objects.create(role="play", entry=AttackRun.objects.all()[0].entry, hour=hour, seconds=100.0)
    assert claims(worker)[0] == "pieces"
    match.pieces.update(state="waiting", lease_until=None)
    AttackRun.objects.update(state="waiting", lease_until=None)
    WorkerTime.objects.update(entry=None)
    assert claims(worker)[0] == "runs"


def test_unranked_work_comes_after_leaderboards_also_of_a_team_above_its_limit(
    match: Match, repositories: dict[str, Repository], alice: User, bob: User, worker: Worker, settings: Settings
) -> None:
    """And of unranked work, that of the team that used less goes first."""
    (own,) = request_challenges(repositories["model"], alice, "gaussian-noise")
    other = other_team(repositories["model"])
    request_challenges(other, other.entry.team.members.get(), "gaussian-noise")
    Challenge.objects.update(queued_at=clock.now() - timedelta(hours=1))
    match.pieces.update(entry=own.entry)
    hour = clock.database_now().replace(minute=0, second=0, microsecond=0)
    WorkerTime.objects.create(role="play", entry=own.entry, hour=hour, seconds=settings.TEAM_WORKER_SECONDS + 1)
    claimed = list(iter(lambda: queue.claim(worker), None))
    assert [each.kind.name for each in claimed] == ["pieces"] * match.pieces.count() + ["challenges"] * 2
    assert [each.claim.entry for each in claimed[-2:]] == [other.entry, own.entry]


def test_a_worker_finds_in_two_queries_that_nothing_waits_or_is_held(
    worker: Worker, the_clock: FakeClock, django_assert_num_queries: Callable[[int], AbstractContextManager[object]]
) -> None:
    with django_assert_num_queries(2):
        assert queue.claim(worker) is None


def test_a_kind_that_fails_does_not_keep_the_work_of_lost_workers_from_others(
    match: Match,
    attacked: None,
    worker: Worker,
    the_clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail() -> int:
        raise RuntimeError("a row of another kind is broken")

    held = claims(worker)
    assert set(held) == {"pieces", "runs"}
    monkeypatch.setattr(runs, "expire", fail)
    monkeypatch.setattr("workers.queue.kinds", sorted(kinds, key=lambda kind: kind.name == "pieces"))  # the last one
    the_clock.forward(seconds=31)
    assert queue.expire() == held.count("pieces")
    assert "expired runs cannot be returned to the queue" in caplog.text


def test_a_worker_plays_although_it_cannot_tidy_its_host(
    match: Match, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise OSError("the disk is read-only")

    played: list[Worker] = []
    housekeeping: ExtensionPoint[[], None] = ExtensionPoint()
    housekeeping.add(fail)
    monkeypatch.setattr("workers.tasks.housekeeping", housekeeping)
    monkeypatch.setattr("workers.tasks.play_work", lambda worker, heartbeat, seconds: played.append(worker))
    tasks.play()
    assert len(played) == 1
    assert "could not be removed from this host" in caplog.text
