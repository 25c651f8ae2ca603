"""Actions of members and organisers on a submission."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from accounts.models import User
from core import clock
from core.errors import Refusal
from core.models import Event
from submissions.hiding import hide
from submissions.models import HIDDEN_TITLE, Build, Submission
from submissions.services import disqualify, reinstate, retry, withdraw

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.submissions.push_gate.conftest import Copy

Notifications = list[tuple[str, dict[str, int]]]


@pytest.fixture
def submission(send: Callable[..., str], notifications: Notifications) -> Submission:
    """A received submission."""
    send("submission-1")
    notifications.clear()
    return Submission.objects.get()


def _events(submission: Submission) -> list[str]:
    return list(Event.objects.filter(subject=f"submission:{submission.pk}").values_list("verb", flat=True))


def _put(submission: Submission, state: str) -> None:
    submission.state = state
    submission.save()


def test_a_withdrawal_before_the_build_refunds_the_slot(
    submission: Submission, bob: User, notifications: Notifications
) -> None:
    withdraw(submission=submission, by=bob)
    assert (submission.state, submission.deadline) == ("withdrawn", None)
    submission.quota_slot.refresh_from_db()
    assert (submission.quota_slot.state, submission.quota_slot.reason) == ("refunded", "withdrawn")
    assert _events(submission) == ["withdraw", "submit"]
    assert ("leaderboards.score", {"track": submission.repository.track_id}) in notifications


@pytest.mark.parametrize("state", ["building", "checking", "ready"])
def test_a_later_withdrawal_does_not_refund_the_slot(submission: Submission, bob: User, state: str) -> None:
    _put(submission, state)
    withdraw(submission=submission, by=bob)
    submission.quota_slot.refresh_from_db()
    assert (submission.state, submission.quota_slot.state) == ("withdrawn", "used")


@pytest.mark.parametrize("state", ["rejected", "withdrawn"])
def test_it_rejects_withdrawing_a_final_submission(submission: Submission, bob: User, state: str) -> None:
    _put(submission, state)
    with pytest.raises(Refusal, match=f"is already {state}"):
        withdraw(submission=submission, by=bob)


def test_it_rejects_withdrawing_for_another_team(submission: Submission, olga: User) -> None:
    with pytest.raises(Refusal, match="only members of The Owls"):
        withdraw(submission=submission, by=olga)


def test_an_organiser_retries_a_rejected_submission(
    submission: Submission, olga: User, notifications: Notifications, the_clock: FakeClock
) -> None:
    Build.objects.create(
        submission=submission, attempt=1, worker="w", started_at=clock.now(), finished_at=clock.now(), outcome="x"
    )
    Submission.objects.update(state="rejected", cause="team", reason="x", problem="bad", fix="better", deadline=None)
    retry(submission=submission, by=olga, reason="the index was away")
    assert (submission.state, submission.cause, submission.problem) == ("received", "", "")
    assert submission.deadline is not None
    assert submission.deadline > the_clock.at
    assert notifications == [("submissions.build", {"submission": submission.pk})]
    assert Event.objects.get(verb="retry").reason == "the index was away"


def test_a_hidden_submission_is_retried_and_stays_hidden(submission: Submission, olga: User) -> None:
    _put(submission, "rejected")
    hide(submission=submission, by=olga, reason="It names a person.")
    retry(submission=submission, by=olga, reason="the index was away")
    assert (submission.state, submission.title) == ("received", HIDDEN_TITLE)


def test_it_rejects_a_retry_during_a_build_or_without_a_refusal(submission: Submission, olga: User) -> None:
    with pytest.raises(Refusal, match="is received"):
        retry(submission=submission, by=olga, reason="")
    _put(submission, "rejected")
    Build.objects.create(submission=submission, attempt=1, worker="w", started_at=clock.now())
    with pytest.raises(Refusal, match="still running"):
        retry(submission=submission, by=olga, reason="")


def test_it_rejects_a_retry_of_a_commit_submitted_again(
    submission: Submission, olga: User, send: Callable[..., str]
) -> None:
    _put(submission, "rejected")
    send("submission-2", submission.commit)
    with pytest.raises(Refusal, match="already"):
        retry(submission=submission, by=olga, reason="")


def test_it_rejects_a_retry_of_a_commit_that_is_being_pushed(
    submission: Submission, olga: User, alice: User, copy: Copy
) -> None:
    _put(submission, "rejected")
    copy.ask(alice, submission.commit, "submission-2")
    with pytest.raises(Refusal, match="submitted again as submission-2"):
        retry(submission=submission, by=olga, reason="")


def test_an_organiser_disqualifies_and_reinstates(
    submission: Submission, olga: User, notifications: Notifications
) -> None:
    disqualify(submission=submission, by=olga, reason="it phones home")
    assert submission.disqualified_at is not None
    assert submission.disqualified_for == "it phones home"
    with pytest.raises(Refusal, match="already"):
        disqualify(submission=submission, by=olga, reason="again")
    reinstate(submission=submission, by=olga, reason="it does not")
    assert submission.disqualified_at is None
    assert notifications == [("leaderboards.score", {"track": submission.repository.track_id})] * 2
    with pytest.raises(Refusal, match="not disqualified"):
        reinstate(submission=submission, by=olga, reason="again")
    assert _events(submission) == ["reinstate", "disqualify", "submit"]


def test_it_rejects_a_disqualification_without_a_reason(submission: Submission, olga: User) -> None:
    with pytest.raises(Refusal, match="needs a reason"):
        disqualify(submission=submission, by=olga, reason=" ")


def test_it_rejects_members_who_act_as_organisers(submission: Submission, alice: User) -> None:
    for act in (retry, disqualify, reinstate):
        with pytest.raises(Refusal, match="only organisers of Digits"):
            act(submission=submission, by=alice, reason="please")
