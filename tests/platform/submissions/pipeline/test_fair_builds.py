"""Builders are shared between teams: no team waits for everything that another one pushed before."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from importlib import import_module
from itertools import count
from typing import Protocol

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from accounts.models import Team, User
from competitions.models import Competition, Entry, Track
from core import clock
from repositories.models import Repository
from submissions import build_order, build_outcomes, build_queue
from submissions.models import Build, Submission
from workers import queue
from workers.fault_record import PAUSES
from workers.models import Worker, WorkerTime


class Clock(Protocol):
    at: datetime

    def forward(self, **by: float) -> datetime: ...


Push = Callable[..., list[Submission]]


@pytest.fixture
def push(competition: Competition, tracks: dict[str, Track], alice: User, the_clock: Clock) -> Push:
    """Create submissions of a team by its name, received one after the other."""
    numbers = count(1)

    def make(slug: str, number: int) -> list[Submission]:
        team, _ = Team.objects.get_or_create(slug=slug, defaults={"name": slug, "created_at": clock.now()})
        entry, _ = Entry.objects.get_or_create(team=team, competition=competition, defaults={"joined_at": clock.now()})
        repository, _ = Repository.objects.get_or_create(
            entry=entry, track=tracks["model"], defaults={"created_at": clock.now()}
        )
        return [
            Submission.objects.create(
                repository=repository,
                commit=f"{each:040x}",
                tag=f"submission-{each}",
                submitted_by=alice,
                received_at=the_clock.forward(seconds=1),
                state_since=the_clock.at,
            )
            for each in (next(numbers) for _ in range(number))
        ]

    return make


def charged() -> dict[tuple[str, datetime], float]:
    """The build time of each team and hour."""
    rows = WorkerTime.objects.filter(role="build").values_list("entry__team__slug", "hour", "seconds")
    return {(slug, hour): seconds for slug, hour, seconds in rows}


def claimed() -> Build | None:
    """Claim the next submission for a builder."""
    found = queue.claim(Worker(name="builder"), build_order.BUILD)
    return found.claim if found else None


@pytest.fixture
def build(the_clock: Clock) -> Callable[..., str]:
    """Let one builder claim the next submission for some seconds and finish it with `outcome`; return the team."""

    def build_next(seconds: float = 60.0, outcome: str = "build_failed") -> str:
        made = claimed()
        if made is None:
            return ""
        the_clock.forward(seconds=seconds)
        made.renew()
        if outcome == build_outcomes.FAULT:
            build_queue.release_claim(made, outcome, "a test")
        else:
            build_queue.refuse(made, outcome, "a test", "none")
        return made.submission.repository.entry.team.slug

    return build_next


def test_two_teams_take_turns(push: Push, build: Callable[..., str]) -> None:
    owls, newts = push("owls", 5), push("newts", 2)
    assert [build_order.place_of(each).before for each in (*owls, *newts)] == [0, 2, 4, 5, 6, 1, 3]
    assert [build() for _ in range(7)] == ["owls", "newts", "owls", "newts", "owls", "owls", "owls"]


def test_builders_are_shared_evenly(push: Push) -> None:
    owls, newts = push("owls", 5), push("newts", 2)
    taken = [made.submission_id for made in iter(claimed, None)]
    assert taken[:4] == [owls[0].pk, newts[0].pk, owls[1].pk, newts[1].pk]


def test_a_team_with_long_builds_gets_no_more_time(push: Push, build: Callable[..., str]) -> None:
    push("slow", 2)
    push("quick", 6)
    assert build(seconds=300.0) == "slow"
    assert [build(seconds=60.0) for _ in range(5)] == ["quick"] * 5
    assert build() == "slow", "both had five minutes, and its submission is older"


def test_a_team_above_its_daily_share_comes_after_the_others(
    push: Push, build: Callable[..., str], the_clock: Clock, settings: Settings
) -> None:
    settings.TEAM_BUILD_SECONDS = 100
    owls = push("owls", 4)
    assert [build() for _ in range(2)] == ["owls"] * 2
    the_clock.forward(hours=2)
    newts = push("newts", 1)
    assert build_order.place_of(owls[2]) == build_order.BuildPlace(before=1, over_limit=True)
    assert build_order.place_of(newts[0]) == build_order.BuildPlace(before=0, over_limit=False)
    assert [build() for _ in range(2)] == ["newts", "owls"], "no builder idles for it"
    the_clock.forward(hours=23)
    assert not build_order.place_of(owls[3]).over_limit, "what it used first is a day ago"


def test_platform_errors_count_for_no_team(push: Push, build: Callable[..., str], settings: Settings) -> None:
    settings.TEAM_BUILD_SECONDS = 100
    owls = push("owls", 3)
    assert build(seconds=200.0, outcome=build_outcomes.FAULT) == "owls"
    assert not build_order.place_of(owls[1]).over_limit


def test_a_submission_waits_after_a_platform_error(push: Push, the_clock: Clock) -> None:
    first, second = push("owls", 2)
    made = claimed()
    assert made is not None
    assert made.submission == first
    build_queue.release_claim(made, build_outcomes.FAULT, "a test")
    assert list(build_order.waiting_builds(the_clock.at)) == [second]
    the_clock.forward(seconds=PAUSES[0].total_seconds())
    assert list(build_order.waiting_builds(the_clock.at)) == [first, second]


def test_a_withdrawn_build_counts_until_then(push: Push, the_clock: Clock) -> None:
    push("owls", 1)
    made = claimed()
    assert made is not None
    the_clock.forward(seconds=40)
    build_queue.stop(made.submission)
    build_queue.stop(made.submission)
    assert not build_queue.refuse(made, "build_failed", "too late", "none")
    assert list(charged().values()) == [40.0]


def test_a_submission_waits_longer_after_each_failure_of_a_host(push: Push, the_clock: Clock) -> None:
    (only,) = push("owls", 1)
    for pause in (timedelta(0), *PAUSES, PAUSES[-1]):
        made = claimed()
        assert made is not None
        build_queue.release_claim(made, build_outcomes.HOST, "a test")
        if pause:
            the_clock.forward(seconds=pause.total_seconds() - 1)
            assert list(build_order.waiting_builds(the_clock.at)) == []
            the_clock.forward(seconds=1)
        assert list(build_order.waiting_builds(the_clock.at)) == [only]


def test_the_oldest_submission_of_a_team_goes_first_whatever_its_track(
    push: Push, tracks: dict[str, Track], the_clock: Clock
) -> None:
    later, earlier = push("owls", 2)
    other = Repository.objects.create(
        entry=earlier.repository.entry, track=tracks["untargeted"], created_at=clock.now()
    )
    Submission.objects.filter(pk=later.pk).update(repository=other)
    assert [made.submission_id for made in iter(claimed, None)] == [later.pk, earlier.pk]


def test_a_claim_takes_a_constant_number_of_queries(push: Push, build: Callable[..., str]) -> None:
    counts = []
    for slug in ("owls", "newts", "rats"):
        push(slug, 4)
        push(f"{slug}-too", 4)
        assert build()
        with CaptureQueriesContext(connection) as queries:
            assert claimed() is not None
        counts.append(len(queries))
    assert len(set(counts)) == 1


def test_an_upgrade_counts_the_builds_of_the_last_day(push: Push, build: Callable[..., str], the_clock: Clock) -> None:
    push("owls", 4)
    (waiting, *_) = push("newts", 4)
    assert build()
    long_ago = charged()
    the_clock.forward(hours=25)
    assert all(build(seconds=seconds) for seconds in (50.0, 70.0))
    the_clock.forward(hours=1)
    assert build(seconds=20.0)
    assert build(seconds=90.0, outcome=build_outcomes.FAULT)
    held = claimed()
    assert held is not None
    WorkerTime.objects.create(role="play", entry=waiting.repository.entry, hour=the_clock.at, seconds=7.0)
    before = {key: seconds for key, seconds in charged().items() if key not in long_ago}
    assert sorted(before.values()) == [20.0, 50.0, 70.0]
    migration = import_module("submissions.migrations.0008_time_of_builds")
    migration.forget_builds(apps, None)
    assert charged() == {}
    migration.count_builds(apps, None)
    assert charged() == before
    assert WorkerTime.objects.get(role="play").seconds == 7.0
    the_clock.forward(seconds=30)
    held.renew()
    assert build_queue.refuse(held, "build_failed", "a test", "none")
    assert sum(charged().values()) == sum(before.values()) + 30.0
