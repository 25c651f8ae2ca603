"""Slots of interrupted pushes and of rejected submissions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from accounts.models import User
from core.errors import Refusal, RefusedForNow
from core.models import Event
from submissions.models import QuotaSlot, Submission
from submissions.quota import REFUNDED_FAULTS, REFUNDED_REFUSALS, allowance_of
from submissions.quota_ledger import AWAITS_ORGANISER, refund, settle_refusal, settle_reservations
from submissions.services import refund_fault

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.submissions.push_gate.conftest import Copy

Send = Callable[..., str]


def test_a_push_interrupted_before_its_tag_is_refunded(copy: Copy, alice: User, the_clock: FakeClock) -> None:
    copy.ask(alice, copy.commit(), "submission-1")
    assert settle_reservations() == 0
    assert allowance_of(copy.repository).left == 4
    the_clock.forward(seconds=60)
    assert settle_reservations() == 1
    slot = QuotaSlot.objects.get()
    assert (slot.state, slot.reason) == ("refunded", "push_broken_off")
    assert allowance_of(copy.repository).left == 5


def test_a_push_interrupted_after_its_tag_is_a_submission(
    copy: Copy, alice: User, the_clock: FakeClock, notifications: list[object]
) -> None:
    commit = copy.commit()
    copy.ask(alice, commit, "submission-1")
    copy.land(commit, "submission-1")
    the_clock.forward(seconds=60)
    assert settle_reservations() == 1
    submission = Submission.objects.get()
    assert (submission.commit, submission.submitted_by) == (commit, alice)
    assert QuotaSlot.objects.get().submission == submission
    assert len(notifications) == 1
    assert settle_reservations() == 0


def test_an_immediate_second_push_uses_the_same_slot(copy: Copy, alice: User, send: Send) -> None:
    commit = copy.commit()
    copy.ask(alice, commit, "submission-1")
    with pytest.raises(RefusedForNow, match="already being submitted as submission-1"):
        send("submission-2", commit)
    send("submission-1", commit)
    assert QuotaSlot.objects.get().state == "used"


def test_a_new_push_does_not_wait_for_the_sweep(
    copy: Copy, alice: User, send: Send, the_clock: FakeClock, take_slots: Callable[[int], None]
) -> None:
    take_slots(4)
    copy.ask(alice, copy.commit(), "submission-1")
    the_clock.forward(seconds=60)
    send("submission-2")
    assert Submission.objects.get().tag == "submission-2"
    assert QuotaSlot.objects.get(tag="submission-1").state == "refunded"


def test_a_tag_that_arrives_after_its_refund_takes_another_slot(copy: Copy, alice: User, the_clock: FakeClock) -> None:
    commit = copy.commit()
    _, end = copy.ask(alice, commit, "submission-1")
    the_clock.forward(seconds=60)
    settle_reservations()
    copy.land(commit, "submission-1")
    assert " received: " in end()
    assert sorted(QuotaSlot.objects.values_list("state", flat=True)) == ["refunded", "used"]


def test_it_rejects_a_tag_that_arrives_after_its_slot_was_used_by_another(
    copy: Copy, alice: User, the_clock: FakeClock, take_slots: Callable[[int], None]
) -> None:
    commit = copy.commit()
    _, end = copy.ask(alice, commit, "submission-1")
    the_clock.forward(seconds=60)
    settle_reservations()
    take_slots(5)
    copy.land(commit, "submission-1")
    assert "arrived too late for a submission: all 5 submissions" in end()
    assert not Submission.objects.exists()


def test_an_unreadable_repository_does_not_stop_the_others(copy: Copy, alice: User, the_clock: FakeClock) -> None:
    copy.ask(alice, copy.commit(), "submission-1")
    the_clock.forward(seconds=60)
    hidden = copy.repository.path.rename(copy.repository.path.with_suffix(".away"))
    assert settle_reservations() == 0
    assert QuotaSlot.objects.get().state == "reserved"
    hidden.rename(copy.repository.path)
    assert settle_reservations() == 1


def test_a_slot_whose_commit_was_submitted_otherwise_is_refunded(
    copy: Copy, alice: User, send: Send, the_clock: FakeClock
) -> None:
    commit = copy.commit()
    send("submission-1", commit)
    submission = Submission.objects.get()
    Submission.objects.update(state=Submission.State.REJECTED)
    copy.ask(alice, commit, "submission-2")
    copy.land(commit, "submission-2")
    other = copy.commit()
    copy.ask(alice, other, "submission-3")
    copy.land(other, "submission-3")
    Submission.objects.update(state=Submission.State.RECEIVED)
    the_clock.forward(seconds=60)
    assert settle_reservations() == 2
    states = dict(QuotaSlot.objects.values_list("tag", "state"))
    assert states == {"submission-1": "used", "submission-2": "refunded", "submission-3": "used"}
    assert set(Submission.objects.values_list("commit", flat=True)) == {submission.commit, other}


def test_a_slot_for_a_tag_of_an_existing_submission_is_refunded(
    copy: Copy, alice: User, send: Send, the_clock: FakeClock
) -> None:
    commit = copy.commit()
    send("submission-1", commit)
    Submission.objects.update(state=Submission.State.REJECTED)
    # as with a push by hand that calls an existing tag new: git rejects it after the push gate accepted it
    copy.ask(alice, commit, "submission-1")
    assert allowance_of(copy.repository).left == 3
    the_clock.forward(seconds=60)
    assert settle_reservations() == 1
    assert sorted(QuotaSlot.objects.values_list("state", flat=True)) == ["refunded", "used"]
    assert allowance_of(copy.repository).left == 4
    assert settle_reservations() == 0
    assert Submission.objects.count() == 1


def test_the_slot_of_a_submission_stays_used_when_settled_again(copy: Copy, alice: User) -> None:
    commit = copy.commit()
    _, end = copy.ask(alice, commit, "submission-1")
    copy.land(commit, "submission-1")
    end()
    end()
    assert QuotaSlot.objects.get().state == "used"


def test_a_slot_of_a_repository_unreadable_for_a_day_is_refunded(copy: Copy, alice: User, the_clock: FakeClock) -> None:
    copy.ask(alice, copy.commit(), "submission-1")
    copy.repository.path.rename(copy.repository.path.with_suffix(".away"))
    the_clock.forward(hours=23)
    assert settle_reservations() == 0
    the_clock.forward(hours=1)
    assert settle_reservations() == 1
    assert QuotaSlot.objects.get().state == "refunded"
    assert settle_reservations() == 0


def _refused(send: Send, number: int, cause: str) -> Submission:
    send(f"submission-{number}")
    submission = Submission.objects.latest("pk")
    submission.state, submission.cause = Submission.State.REJECTED, cause
    submission.save()
    return submission


def test_platform_errors_are_refunded_ten_times_a_day_and_then_by_an_organiser(
    send: Send, the_clock: FakeClock, olga: User, alice: User
) -> None:
    for number in range(REFUNDED_FAULTS):
        assert settle_refusal(_refused(send, number, "platform"))
    eleventh = _refused(send, 11, "platform")
    assert not settle_refusal(eleventh)
    slot = QuotaSlot.objects.get(submission=eleventh)
    assert (slot.state, slot.reason) == ("used", AWAITS_ORGANISER)
    assert allowance_of(eleventh.repository).left == 4

    the_clock.forward(hours=25)
    assert not settle_refusal(eleventh), "it waits for an organiser, not for the next day"
    with pytest.raises(Refusal, match="only organisers"):
        refund_fault(submission=eleventh, by=alice, reason="Please.")
    refund_fault(submission=eleventh, by=olga, reason="The disk was full.")
    slot.refresh_from_db()
    assert (slot.state, slot.reason) == ("refunded", "fault")
    assert Event.objects.get(verb="refund", subject=f"quotaslot:{slot.pk}").by == olga
    with pytest.raises(Refusal, match="does not wait"):
        refund_fault(submission=eleventh, by=olga, reason="Again.")
    assert settle_refusal(_refused(send, 12, "platform"))


def test_a_platform_error_after_an_organisers_retry_costs_nothing(send: Send, the_clock: FakeClock) -> None:
    submission = _refused(send, 1, "platform")
    assert settle_refusal(submission)
    for number in range(2, REFUNDED_FAULTS + 2):
        settle_refusal(_refused(send, number, "platform"))
    assert settle_refusal(submission)


def test_user_errors_and_platform_errors_are_refunded_ten_times_each(send: Send, the_clock: FakeClock) -> None:
    for number in range(REFUNDED_REFUSALS):
        submission = _refused(send, number, "team")
        assert settle_refusal(submission)
        assert settle_refusal(submission), "safe to repeat"
    eleventh = _refused(send, 11, "team")
    assert not settle_refusal(eleventh)
    assert allowance_of(eleventh.repository).left == 4
    assert settle_refusal(_refused(send, 12, "platform"))
    assert allowance_of(eleventh.repository).left == 4
    the_clock.forward(hours=24)
    assert settle_refusal(_refused(send, 13, "team"))


def test_a_slot_is_refunded_once(send: Send) -> None:
    send("submission-1")
    submission = Submission.objects.get()
    assert refund(submission=submission, reason="fault")
    assert not refund(submission=submission, reason="fault")
