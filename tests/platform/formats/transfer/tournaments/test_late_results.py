"""Results that arrive after their round was cancelled, scored or published."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import TestCase
from django.utils import timezone

from accounts.models import User
from competitions.models import Competition
from formats.transfer.rounds.competition_verification import differing_places
from formats.transfer.tournaments import run_queue, step_notifications, tasks
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Run
from formats.transfer.tournaments.selectors import AnyRun
from rounds.formats import format_of
from rounds.models import Round
from rounds.publishing.preview import preview_digest
from rounds.publishing.publication import publish
from rounds.running import lifecycle as rounds
from rounds.tasks import advance_round
from submissions.models import Submission
from tests.platform.claims import claim_run, take_run
from tests.platform.conftest import FakeClock
from tests.platform.formats.transfer.tournaments.conftest import CHECKSUM, COPY
from tests.platform.formats.transfer.tournaments.play_rounds import begin, plan
from tests.platform.formats.transfer.tournaments.results import true_result
from workers.lease import Heartbeat, LostClaimError
from workers.models import Priority


@pytest.fixture
def playing(transfer: Competition, olga: User, submit: Callable[..., Submission], the_clock: FakeClock) -> Round:
    """A round of an attack and a defence, which has begun."""
    the_clock.at = timezone.now()
    transfer.tracks.update(baselines=[])
    Competition.objects.update(new_validation_set=False)
    submit("owls", "attack", COPY)
    submit("bats", "defence", CHECKSUM)
    round_ = plan(transfer, olga)
    begin(round_, olga, the_clock)
    tasks.advance(round_.tournament.pk)
    return round_


def claimed() -> AnyRun:
    run = claim_run("worker")
    assert run is not None
    assert run.priority == Priority.ROUND
    return run


def test_a_lost_notification_of_a_step_delays_only_that_step(
    playing: Round, notifications: list[tuple[str, dict[str, int]]]
) -> None:
    step = ("tournaments.follow_up", {"tournament": playing.tournament.pk})
    for expected in (1, 2):
        run = claimed()
        with TestCase.captureOnCommitCallbacks(execute=True):
            run_queue.commit(run, true_result(run))
            step_notifications.announce(run)
        assert notifications.count(step) == expected
        advance_round()  # the sweep of rounds, while the notification is lost
    assert DefenceRun.objects.exists()


def test_a_run_of_a_cancelled_round_is_taken_from_its_worker(playing: Round, olga: User) -> None:
    run, heartbeat = claimed(), Heartbeat()
    heartbeat.hold(run)
    rounds.cancel(round_=playing, by=olga, reason="the samples are wrong")
    heartbeat.beat()
    assert not heartbeat.holds(run)
    with pytest.raises(LostClaimError):
        run_queue.commit(run, true_result(run))
    tasks.follow_up(playing.tournament.pk)
    advance_round()
    playing.refresh_from_db()
    assert (playing.state, playing.outcome, playing.problem) == ("cancelled", "", "")
    assert not AttackRun.objects.filter(tournament=playing.tournament).exclude(state=Run.State.WAITING).exists()
    assert take_run() is None


@pytest.mark.parametrize("published", [False, True])
def test_a_lost_worker_changes_nothing_in_a_finished_round(
    playing: Round, olga: User, the_clock: FakeClock, published: bool
) -> None:
    lost = claimed()
    the_clock.forward(seconds=31)
    while (run := claim_run("another worker")) is not None:
        if run.priority == Priority.ROUND:
            run_queue.commit(run, true_result(run))
            tasks.advance(playing.tournament.pk)
    advance_round()
    playing.refresh_from_db()
    assert playing.state == "scored"
    if published:
        publish(round_=playing, by=olga, previewed=preview_digest(playing, format_of(playing).preview(playing)))
    before = Round.objects.values().get(pk=playing.pk), list(playing.entries.order_by("pk").values())
    with pytest.raises(LostClaimError):
        run_queue.commit(lost, true_result(lost) | {"made": 0})
    tasks.follow_up(playing.tournament.pk)
    advance_round()
    assert (Round.objects.values().get(pk=playing.pk), list(playing.entries.order_by("pk").values())) == before
    assert list(differing_places(Competition.objects.all())) == []
