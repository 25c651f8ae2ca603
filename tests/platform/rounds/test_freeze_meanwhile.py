"""Commits during the freeze of a round, and hosts with wrong clocks."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.db import connections, transaction

from core import clock
from formats.query.leaderboards import services as leaderboards
from formats.query.leaderboards.models import Evaluation
from formats.query.leaderboards.scoring import score_finished
from formats.query.leaderboards.services import set_pool
from rounds.models import Round
from rounds.planning.entries import eligible_entries
from rounds.planning.freeze import freeze, freeze_due
from submissions import build_queue
from submissions.models import Build, Submission

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.platform.rounds.conftest import RoundFixture

MOMENT = timedelta(milliseconds=1)
MINUTE = timedelta(minutes=1)


@dataclass
class Builder:
    """A worker that is finishing the build of a submission."""

    env: RoundFixture
    build: Build

    def finish(self) -> None:
        player = self.env.player("model", 7)
        assert build_queue.succeed(self.build, player, [])

    @property
    def submission(self) -> Submission:
        return Submission.objects.get(pk=self.build.submission_id)


@pytest.fixture
def builder(env: RoundFixture) -> Builder:
    """A round is planned, and the newest submission of mo-0 passes its smoke test."""
    env.field(2, 2)
    submission = env.submission("mo-0", "model", 7)
    Submission.objects.filter(pk=submission.pk).update(state=Submission.State.CHECKING, player=None)
    build = Build.objects.create(
        submission=submission,
        attempt=1,
        worker="arena-1/build/1",
        started_at=clock.now(),
        lease_until=clock.now() + timedelta(days=1),
    )
    return Builder(env, build)


@pytest.fixture
def round_(env: RoundFixture, builder: Builder) -> Round:
    """Planned, the window to come."""
    return env.plan()


@pytest.fixture
def meanwhile() -> Iterator[Callable[[Callable[[], object]], Future[None]]]:
    """Start something as another process would; return when it has reached its first lock."""
    with ThreadPoolExecutor(1) as threads:

        def begin(act: Callable[[], object]) -> Future[None]:
            def run() -> None:
                try:
                    act()
                finally:
                    connections.close_all()

            begun = threads.submit(run)
            wait([begun], timeout=0.5)
            return begun

        yield begin


def entered(round_: Round) -> list[str]:
    return list(
        round_.entries.filter(track__name="model").order_by("prior").values_list("submission__title", flat=True)
    )


def would_enter(round_: Round) -> list[str]:
    """Return the answer to the same query now."""
    rows = [row for row in eligible_entries(round_, round_.window.starts_at) if row.track.name == "model"]
    return [row.submission.title for row in sorted(rows, key=lambda row: row.prior)]


@pytest.mark.django_db(transaction=True)
def test_what_was_ready_before_the_window_is_in_the_round_although_it_is_committed_later(
    env: RoundFixture, round_: Round, builder: Builder, meanwhile: Callable[[Callable[[], object]], Future[None]]
) -> None:
    env.clock.at = round_.window.starts_at - MOMENT
    with transaction.atomic():
        builder.finish()
        env.clock.at = round_.window.starts_at
        froze = meanwhile(freeze_due)
    froze.result()
    assert sorted(entered(round_)) == ["mo-0 7", "mo-1 1"]
    assert would_enter(round_) == entered(round_)


@pytest.mark.django_db(transaction=True)
def test_what_becomes_ready_while_the_round_is_frozen_is_ready_after_the_window_began(
    env: RoundFixture, round_: Round, builder: Builder, meanwhile: Callable[[Callable[[], object]], Future[None]]
) -> None:
    env.clock.at = round_.window.starts_at
    with transaction.atomic():
        freeze_due()
        env.clock.at = round_.window.starts_at - MOMENT
        finished = meanwhile(builder.finish)
        env.clock.at = round_.window.starts_at + MOMENT
    finished.result()
    assert builder.submission.state_since > round_.window.starts_at
    assert sorted(entered(round_)) == ["mo-0 0", "mo-1 1"]
    assert would_enter(round_) == entered(round_)


@pytest.mark.django_db(transaction=True)
def test_a_score_from_before_the_window_orders_the_field_although_it_is_committed_later(
    env: RoundFixture, round_: Round, meanwhile: Callable[[Callable[[], object]], Future[None]]
) -> None:
    set_pool(track=env.tracks["untargeted"], players=[env.player("untargeted", 1)], reason="a test")
    for submission in Submission.objects.filter(state="ready", repository__track__name="model"):
        leaderboards.evaluate(submission)
    env.play()
    env.clock.at = round_.window.starts_at - MOMENT
    with transaction.atomic():
        assert score_finished() == 2
        env.clock.at = round_.window.starts_at
        froze = meanwhile(freeze_due)
    froze.result()
    assert entered(round_) == ["mo-0 0", "mo-1 1"]  # mo-1 entered first
    assert would_enter(round_) == entered(round_)


@pytest.mark.parametrize("off", [-MINUTE, MINUTE], ids=["slow", "fast"])
@pytest.mark.parametrize("ready", [-MOMENT, MOMENT], ids=["before", "after"])
def test_a_wrong_builder_clock_changes_no_entry(
    env: RoundFixture,
    round_: Round,
    builder: Builder,
    monkeypatch: pytest.MonkeyPatch,
    off: timedelta,
    ready: timedelta,
) -> None:
    env.clock.at = round_.window.starts_at + ready
    with monkeypatch.context() as host:
        host.setattr(clock, "now", lambda: env.clock.at + off)
        builder.finish()
    env.clock.at += MINUTE
    freeze(round_=round_, by=env.organiser)
    assert ("mo-0 7" in entered(round_)) == (ready < timedelta(0))


def test_a_worker_whose_clock_is_fast_does_not_freeze_a_round_too_early(
    env: RoundFixture, round_: Round, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.clock.at = round_.window.starts_at - MINUTE
    monkeypatch.setattr(clock, "now", lambda: round_.window.starts_at + MINUTE)
    freeze_due()
    round_.refresh_from_db()
    assert (round_.state, round_.problem) == ("planned", "")


def test_a_wrong_scorer_clock_changes_no_order(
    env: RoundFixture, round_: Round, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_pool(track=env.tracks["untargeted"], players=[env.player("untargeted", 1)], reason="a test")
    for submission in Submission.objects.filter(state="ready", repository__track__name="model"):
        leaderboards.evaluate(submission)
    env.play()
    env.clock.at = round_.window.starts_at + MOMENT
    monkeypatch.setattr(clock, "now", lambda: env.clock.at - MINUTE)
    score_finished()
    assert not Evaluation.objects.filter(finished_at__lte=round_.window.starts_at).exists()
