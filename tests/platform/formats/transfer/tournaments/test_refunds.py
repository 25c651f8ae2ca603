"""Refunds of submissions whose runs were given up, or not played in time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import User
from competitions.models import Competition
from core import clock
from core.models import Event
from formats.transfer.tournaments import run_queue, services
from formats.transfer.tournaments.models import AttackRun, DefenceRun, RepeatRun, Tournament
from formats.transfer.tournaments.run_work import runs
from formats.transfer.tournaments.selectors import AnyRun, current_entrants
from submissions.evaluation_refunds import OVERDUE, refund_overdue
from submissions.models import Submission
from submissions.quota_ledger_check import differing_slots
from submissions.services import end_baseline, make_baseline, withdraw
from tests.platform.claims import take_runs
from tests.platform.formats.transfer.tournaments.conftest import CHECKSUM, COPY
from tests.platform.formats.transfer.tournaments.results import commit_all, result
from tests.platform.slots import slot_of, use_slot
from workers.work_item_queue import take

Submit = Callable[..., Submission]

USED, FAULT, OVERDUE_REFUND = ("used", ""), ("refunded", "fault"), ("refunded", "overdue")


@pytest.fixture
def tournament(transfer: Competition) -> Tournament:
    """The leaderboard's, without baselines."""
    transfer.tracks.update(baselines=[])
    return services.make_tournament(transfer)


@pytest.fixture
def charged(submit: Submit) -> Submit:
    """Make a ready submission that uses a slot."""

    def make(slug: str, track: str, script: str) -> Submission:
        submission = submit(slug, track, script)
        use_slot(submission)
        return submission

    return make


def fail(run: AnyRun | None) -> AnyRun:
    """Let a run have faults on two hosts, after which it is given up."""
    assert run is not None
    for host in ("arena-1", "arena-2", "arena-1"):
        run.refresh_from_db()
        assert take(run, clock.database_now(), worker=f"{host}/0")
        assert runs.release(run, fault="the disk is full")
    run.refresh_from_db()
    assert run.state == "failed"
    return run


def wait(*submissions: Submission, longer_than: timedelta = OVERDUE) -> None:
    """Let submissions be ready for longer than that."""
    ready = Submission.objects.filter(pk__in=[each.pk for each in submissions])
    ready.update(state_since=clock.database_now() - longer_than - timedelta(seconds=1))


def test_an_attack_whose_run_is_given_up_is_refunded_and_stays_in_the_queue(
    tournament: Tournament, charged: Submit, caplog: pytest.LogCaptureFixture
) -> None:
    defence = charged("bats", "defence", CHECKSUM)
    commit_all(tournament)
    attack, copy = charged("owls", "attack", COPY), charged("rats", "attack", COPY)
    services.advance(tournament)
    run = fail(AttackRun.objects.first())
    assert [slot_of(each) for each in (defence, attack, copy)] == [USED, FAULT, FAULT]
    assert Event.objects.filter(verb="refund").count() == 2
    assert "was given up after 3 platform errors" in caplog.text
    assert list(differing_slots()) == []

    runs.replay(run, None)
    assert list(differing_slots()) == []
    commit_all(tournament)
    assert {attack.pk, copy.pk} < set(current_entrants(tournament).values_list("submission", flat=True))
    assert [slot_of(each) for each in (defence, attack, copy)] == [USED, FAULT, FAULT]
    assert list(differing_slots()) == []


def test_each_is_refunded_once_however_many_runs_are_given_up(tournament: Tournament, charged: Submit) -> None:
    attack = charged("owls", "attack", COPY)
    services.advance(tournament)
    for run in AttackRun.objects.all():
        fail(run)
    assert slot_of(attack) == FAULT
    assert Event.objects.filter(verb="refund").count() == 1


def test_a_defence_is_refunded_and_the_attack_that_has_a_score_keeps_its_slot(
    tournament: Tournament, charged: Submit
) -> None:
    charged("bats", "defence", CHECKSUM)
    attack = charged("owls", "attack", COPY)
    commit_all(tournament)
    defence = charged("crows", "defence", f"{CHECKSUM}\n# of the crows")
    services.advance(tournament)
    fail(DefenceRun.objects.filter(defence=defence.player).first())
    assert (slot_of(attack), slot_of(defence)) == (USED, FAULT)
    assert list(differing_slots()) == []


def test_both_are_refunded_if_both_are_new(tournament: Tournament, charged: Submit) -> None:
    inside = [
        charged("rats", "attack", f"{COPY}\n# of the rats"),
        charged("crows", "defence", f"{CHECKSUM}\n# crows"),
    ]
    commit_all(tournament)
    attack, defence = charged("owls", "attack", COPY), charged("bats", "defence", CHECKSUM)
    services.advance(tournament)
    for run in take_runs():
        if isinstance(run, AttackRun):
            run_queue.commit(run, result(run))
    services.advance(tournament)
    fail(DefenceRun.objects.filter(attack_run__attack=attack.player, defence=defence.player).first())
    assert [slot_of(each) for each in (*inside, attack, defence)] == [USED, USED, FAULT, FAULT]


def test_one_that_does_not_count_now_keeps_its_slot(tournament: Tournament, charged: Submit) -> None:
    older = charged("owls", "attack", COPY)
    newer = charged("owls", "attack", f"{COPY}\n# the second version")
    other = charged("rats", "attack", COPY)
    services.advance(tournament)
    fail(AttackRun.objects.filter(attack=older.player).first())
    assert [slot_of(each) for each in (older, newer, other)] == [USED, USED, FAULT]
    assert list(differing_slots()) == []


def test_runs_of_rounds_ended_leaderboards_and_repeats_refund_nothing(tournament: Tournament, charged: Submit) -> None:
    attack = charged("owls", "attack", COPY)
    services.advance(tournament)
    defence = charged("bats", "defence", CHECKSUM)
    assert defence.player is not None
    repeat = RepeatRun.objects.create(tournament=tournament, defence=defence.player, number=0)
    fail(repeat)
    Tournament.objects.update(fixed=True)
    first, second = AttackRun.objects.all()
    fail(first)
    Tournament.objects.update(fixed=False, ended_at=clock.now())
    fail(second)
    assert (slot_of(attack), slot_of(defence)) == (USED, USED)


def test_one_that_was_not_played_within_seven_days_is_refunded_once_and_continues(
    tournament: Tournament, charged: Submit, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    defence = charged("bats", "defence", CHECKSUM)
    commit_all(tournament)
    attack = charged("owls", "attack", COPY)
    services.advance(tournament)
    wait(defence, attack, longer_than=OVERDUE - timedelta(minutes=1))
    assert refund_overdue() == 0
    wait(defence, attack)
    assert (refund_overdue(), refund_overdue()) == (1, 0)
    assert (slot_of(defence), slot_of(attack)) == (USED, OVERDUE_REFUND)
    assert Event.objects.get(verb="overdue").subject == f"submission:{attack.pk}"
    assert "was not played within 7 days" in caplog.text
    client.force_login(attack.submitted_by)
    assert "Not played within 7 days" in client.get(f"/submissions/{attack.pk}").content.decode()
    assert list(differing_slots()) == []
    commit_all(tournament)
    assert attack.pk in current_entrants(tournament).values_list("submission", flat=True)
    assert slot_of(attack) == OVERDUE_REFUND
    assert list(differing_slots()) == []


def test_one_in_an_archived_competition_is_overdue_when_that_is_taken_back(
    tournament: Tournament, transfer: Competition, charged: Submit
) -> None:
    wait(charged("owls", "attack", COPY))
    Competition.objects.update(archived_at=clock.now())
    assert refund_overdue() == 0
    Competition.objects.update(archived_at=None)
    assert refund_overdue() == 1


def test_one_that_is_replaced_is_not_overdue_until_it_counts_again(tournament: Tournament, charged: Submit) -> None:
    older = charged("owls", "attack", COPY)
    newer = charged("owls", "attack", f"{COPY}\n# the second version")
    wait(older)
    assert refund_overdue() == 0
    withdraw(submission=newer, by=newer.submitted_by)
    assert refund_overdue() == 1


def test_a_baseline_of_a_team_waits_as_well(tournament: Tournament, charged: Submit, olga: User) -> None:
    marked, newer = charged("owls", "attack", COPY), charged("owls", "attack", f"{COPY}\n# the second version")
    make_baseline(submission=marked, by=olga, reason="it is strong")
    wait(marked)
    assert refund_overdue() == 1
    assert (slot_of(marked), slot_of(newer)) == (OVERDUE_REFUND, USED)
    end_baseline(submission=marked, by=olga, reason="it is weak")
    assert list(differing_slots()) == []
