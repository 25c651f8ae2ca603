"""What waits, as the launcher and the metrics count it: the items that workers may claim, and since when."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pytest_django import Settings

from accounts.models import User
from competitions.models import RulesVersion, SampleSet, Track
from core import clock, worker_notifications
from formats.query.challenges.models import Challenge
from formats.query.matches.models import Match, Piece
from formats.query.matches.player_builds import baseline_player
from operations.launcher.scaling import waiting_items
from pages.formats import page_formats
from repositories.models import Repository
from tests.platform.conftest import FakeClock
from tests.platform.formats.query.challenges.requests import request_challenges
from tests.platform.formats.query.matches.whole_match import ensure_match
from workers import idle_exit


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: None)


@pytest.fixture
def match(
    rules: RulesVersion, sample_sets: dict[str, SampleSet], tracks: dict[str, Track], the_clock: FakeClock
) -> Match:
    """A match of three pieces, which have waited for a minute."""
    model = baseline_player(tracks["model"], "numpy-classifier", lambda line: None)
    attack = baseline_player(tracks["untargeted"], "gaussian-noise", lambda line: None)
    made = ensure_match(rules=rules, sample_set=sample_sets["validation"], model=model, attack=attack)
    the_clock.forward(minutes=1)
    return made


def test_items_that_wait_for_something_else_need_no_job(match: Match) -> None:
    assert waiting_items("cpu") == 3
    Piece.objects.filter(number=0).update(paused_until=clock.now() + timedelta(minutes=10))
    assert waiting_items("cpu") == 2
    Match.objects.update(state=Match.State.SUSPENDED)
    assert waiting_items("cpu") == 0


def test_items_that_need_a_gpu_are_for_jobs_that_have_one(
    match: Match, repositories: dict[str, Repository], alice: User, the_clock: FakeClock
) -> None:
    request_challenges(repositories["model"], alice, "gaussian-noise", "salt-and-pepper")
    the_clock.forward(minutes=1)
    Match.objects.update(needs_gpu=True)
    assert (waiting_items("cpu"), waiting_items("gpu")) == (2, 5)
    Challenge.objects.update(needs_gpu=True)
    assert (waiting_items("cpu"), waiting_items("gpu")) == (0, 5)


def test_what_comes_after_later_requests_is_played_where_there_are_none(match: Match) -> None:
    """As what a team of low priority submitted: it would wait for an hour in front of an idle cluster."""
    Piece.objects.update(queued_at=clock.now() + timedelta(hours=1))
    assert waiting_items("cpu") == 3


def test_what_idle_workers_are_about_to_claim_needs_no_job(match: Match) -> None:
    Piece.objects.update(queued_at=clock.now() - timedelta(seconds=1))
    assert waiting_items("cpu") == 0


def test_a_piece_that_an_old_match_gets_has_waited_since_then(match: Match, the_clock: FakeClock) -> None:
    """A match is played on for a further stage, or once more: its age is not that of what waits."""
    Match.objects.update(created_at=the_clock.at - timedelta(days=30))
    Piece.objects.update(queued_at=the_clock.at - timedelta(minutes=5))
    assert page_formats["query"].queue().oldest_since == the_clock.at - timedelta(minutes=5)
    Piece.objects.update(queued_at=the_clock.at + timedelta(hours=1))  # of low priority
    assert page_formats["query"].queue().oldest_since == the_clock.at


@pytest.mark.parametrize("devices", [[], ["0"]])
def test_a_job_stays_for_what_needs_its_gpu(
    repositories: dict[str, Repository], rules: RulesVersion, sample_sets: dict[str, SampleSet], alice: User,
    settings: Settings, devices: list[str],
) -> None:  # fmt: skip
    settings.WORKER_CLASS, settings.WORKER_DEVICES = "gpu", devices
    request_challenges(repositories["model"], alice, "gaussian-noise")
    Challenge.objects.update(needs_gpu=True)
    assert idle_exit._is_needed() is bool(devices)
