"""The sweep repairs what a lost message or a lost worker leaves, from the database alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pytest

from competitions.models import SampleSet
from formats.query.matches import tasks as match_tasks
from formats.query.matches.models import Match
from tests.platform.claims import claim_piece
from tests.platform.formats.query.matches.whole_match import ensure_match
from workers import tasks
from workers.models import Worker


class Clock(Protocol):
    def forward(self, **by: float) -> object: ...


pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_process", tasks._WorkerProcessState())


def test_a_piece_of_a_lost_worker_is_released_and_workers_are_notified(
    match: Match, the_clock: Clock, make_worker: Callable[..., Worker], notifications: list[str]
) -> None:
    claim_piece(make_worker())
    the_clock.forward(seconds=31)
    notifications.clear()
    tasks.sweep()
    assert not match.pieces.filter(state="claimed").exists()
    assert set(notifications) == {"workers.play"}


def test_it_fails_an_open_match_with_a_piece_that_was_given_up(match: Match, notifications: list[str]) -> None:
    match.pieces.filter(number=1).update(state="failed")
    notifications.clear()
    match_tasks.sweep()
    match.refresh_from_db()
    assert (match.state, match.finished_at is None) == ("failed", False)
    assert "piece 1 was given up while the match was suspended" in match.fault
    assert notifications.count("leaderboards.score") == 1


def test_a_match_that_cannot_be_finished_does_not_stop_the_others(
    match: Match, sample_sets: dict[str, SampleSet], caplog: pytest.LogCaptureFixture
) -> None:
    younger = ensure_match(
        rules=match.rules, sample_set=sample_sets["development"], model=match.model, attack=match.attack
    )
    match.pieces.update(state="played", audit={"no such count": 1})
    younger.pieces.update(state="played")
    match_tasks.sweep()
    younger.refresh_from_db()
    assert younger.state == "played"
    assert f"the sweep failed for {match}" in caplog.text


def test_it_notifies_each_idle_worker_and_no_busy_one(
    match: Match, the_clock: Clock, make_worker: Callable[..., Worker], notifications: list[str]
) -> None:
    claim_piece(make_worker("busy"))
    make_worker("idle")
    make_worker("idle, too")
    notifications.clear()
    tasks.sweep()
    assert notifications == ["workers.play"] * 2


def test_it_notifies_at_intervals_while_no_worker_is_known(match: Match, notifications: list[str]) -> None:
    notifications.clear()
    tasks.sweep()
    tasks.sweep()
    assert notifications == ["workers.play"]


def test_it_notifies_silent_workers_until_they_are_gone(
    the_clock: Clock, make_worker: Callable[..., Worker], notifications: list[str]
) -> None:
    make_worker()
    tasks.sweep()
    assert notifications == []
    the_clock.forward(seconds=31)
    tasks.sweep()
    assert notifications == ["workers.play"]
    the_clock.forward(hours=1)
    tasks.sweep()
    assert notifications == ["workers.play"]
