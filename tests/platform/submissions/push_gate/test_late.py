"""Tags that arrive after the slot of their push was refunded."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from accounts.models import Membership, User
from accounts.services import issue_token
from competitions.models import Competition, FreezeWindow
from core.models import Event
from submissions.models import QuotaSlot, Submission
from submissions.quota import allowance_of
from submissions.quota_ledger import reserve, settle_late_tags, settle_reservations
from submissions.tasks import settle_late_tags as sweep

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.submissions.push_gate.conftest import Copy

HALF_AN_HOUR = timedelta(minutes=30)


def freeze(competition: Competition, starts_at: datetime) -> FreezeWindow:
    """Create a freeze window of two hours."""
    ends_at = starts_at + timedelta(hours=2)
    return FreezeWindow.objects.create(
        competition=competition, starts_at=starts_at, ends_at=ends_at, reason="Development round 1"
    )


@pytest.fixture
def give_up(copy: Copy, alice: User, the_clock: FakeClock) -> Callable[..., str]:
    """Let a push of Alice pass the push gate and be given up before git sets its tag; return its commit."""

    def through(tag: str = "submission-1") -> str:
        commit = copy.commit()
        copy.ask(alice, commit, tag)
        the_clock.forward(seconds=60)
        assert settle_reservations() == 1
        return commit

    return through


GiveUp = Callable[..., str]


def slots(tag: str) -> list[tuple[str, str]]:
    return list(QuotaSlot.objects.filter(tag=tag).order_by("pk").values_list("state", "problem"))


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("db")
def test_a_push_that_arrives_in_a_freeze_window_after_its_refund_is_no_submission(
    copy: Copy,
    alice: User,
    the_clock: FakeClock,
    competition: Competition,
    live_server: LiveServer,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    window = freeze(competition, the_clock.at + timedelta(minutes=1))

    def slow(**given: Any) -> QuotaSlot:
        slot = reserve(**given)
        the_clock.forward(minutes=31)  # as if git took that long to move the pack
        settle_reservations()
        return slot

    monkeypatch.setattr("submissions.push_gate.reserve", slow)
    _, token = issue_token(user=alice, name="laptop", scopes=["read", "submit"], days=1)
    address = live_server.url.replace("://", f"://alice:{token}@") + "/git/owls/model.git"
    commit = copy.commit()
    copy.git("tag", "submission-1")
    done = subprocess.run(["git", "push", address, "submission-1"], cwd=copy.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "submission-1 is stored, but arrived too late for a submission: submissions are frozen until" in done.stderr
    assert f"after {window.ends_at:%Y-%m-%d %H:%M} UTC: git tag submission-2 {commit[:12]}" in done.stderr
    assert not Submission.objects.exists()
    (slot,) = slots("submission-1")
    assert slot[0] == "refunded"
    assert slot[1].startswith("submissions are frozen until")

    client.force_login(alice)
    page = client.get("/teams/owls").content.decode()
    assert "arrived too late and is not a submission: submissions are frozen until" in page
    client.logout()
    assert "arrived too late" not in client.get("/teams/owls").content.decode()


def test_a_tag_without_an_answer_to_the_pusher_becomes_a_submission(
    copy: Copy, alice: User, give_up: GiveUp, the_clock: FakeClock, notifications: list[object]
) -> None:
    commit = give_up()
    assert settle_late_tags() == 0
    the_clock.forward(minutes=30)
    copy.land(commit, "submission-1")
    sweep()
    submission = Submission.objects.get()
    assert (submission.commit, submission.tag, submission.submitted_by) == (commit, "submission-1", alice)
    assert slots("submission-1") == [("refunded", ""), ("used", "")]
    assert allowance_of(copy.repository).left == 4
    assert len(notifications) == 1
    assert settle_late_tags() == 0


def test_a_tag_in_a_freeze_window_never_becomes_a_submission(
    copy: Copy, give_up: GiveUp, the_clock: FakeClock, competition: Competition
) -> None:
    commit = give_up()
    window = freeze(competition, the_clock.at)
    the_clock.forward(minutes=30)
    copy.land(commit, "submission-1")
    assert settle_late_tags() == 1
    ((state, problem),) = slots("submission-1")
    assert (state, problem.partition(" until")[0]) == ("refunded", "submissions are frozen")
    assert Event.objects.get(verb="leave_out").reason == problem
    the_clock.at = window.ends_at
    assert settle_late_tags() == 0
    assert not Submission.objects.exists()


def test_what_was_decided_on_a_tag_is_final_for_each_push_that_was_given_up(
    copy: Copy, alice: User, give_up: GiveUp, the_clock: FakeClock, competition: Competition
) -> None:
    commit = give_up()
    _, end = copy.ask(alice, commit, "submission-1")
    the_clock.forward(seconds=60)
    assert settle_reservations() == 1
    window = freeze(competition, the_clock.at)
    copy.land(commit, "submission-1")
    assert "arrived too late for a submission: submissions are frozen" in end()
    the_clock.at = window.ends_at
    assert settle_late_tags() == 0
    assert not Submission.objects.exists()


def test_it_respects_the_quota_and_waits_for_no_free_slot(
    copy: Copy, give_up: GiveUp, the_clock: FakeClock, take_slots: Callable[[int], None]
) -> None:
    commits = {f"submission-{number}": give_up(f"submission-{number}") for number in (1, 2)}
    take_slots(4)
    for tag, commit in commits.items():
        copy.land(commit, tag)
    assert settle_late_tags() == 2
    assert Submission.objects.count() == 1
    assert allowance_of(copy.repository).left == 0
    the_clock.forward(hours=23, minutes=59)
    assert settle_late_tags() == 0
    assert Submission.objects.count() == 1


def test_a_branch_with_the_name_of_the_tag_does_not_count(copy: Copy, give_up: GiveUp) -> None:
    """Otherwise a team could push one at any time, without the push gate."""
    commit = give_up()
    for ref in ("refs/heads/refs/tags/submission-1", "refs/tags/refs/tags/submission-1", "refs/heads/submission-1"):
        copy.git("push", "--quiet", str(copy.repository.path), f"{commit}:{ref}")
    assert settle_late_tags() == 0
    assert not Submission.objects.exists()


def test_a_tag_on_another_commit_than_checked_does_not_count(copy: Copy, give_up: GiveUp) -> None:
    give_up()
    copy.land(copy.commit(), "submission-1")
    assert settle_late_tags() == 0
    assert not Submission.objects.exists()


def test_a_former_member_cannot_submit(copy: Copy, give_up: GiveUp, alice: User) -> None:
    copy.land(give_up(), "submission-1")
    Membership.objects.filter(user=alice).delete()
    assert settle_late_tags() == 1
    assert not Submission.objects.exists()
    assert slots("submission-1") == [("refunded", "alice is not a member of The Owls")]


def test_a_commit_submitted_with_another_tag_meanwhile_is_one_submission(
    copy: Copy, give_up: GiveUp, send: Callable[..., str]
) -> None:
    commit = give_up()
    send("submission-2", commit)
    copy.land(commit, "submission-1")
    assert settle_late_tags() == 1
    assert list(Submission.objects.values_list("tag", flat=True)) == ["submission-2"]


def test_the_next_push_comes_after_an_earlier_late_tag(copy: Copy, give_up: GiveUp, send: Callable[..., str]) -> None:
    """Otherwise the older commit would be the newest submission, which is the one that counts."""
    copy.land(give_up(), "submission-1")
    send("submission-2")
    assert list(Submission.objects.order_by("pk").values_list("tag", flat=True)) == ["submission-1", "submission-2"]


def test_late_tags_are_searched_for_a_day(copy: Copy, give_up: GiveUp, the_clock: FakeClock) -> None:
    commit = give_up()
    the_clock.forward(days=1)
    copy.land(commit, "submission-1")
    assert settle_late_tags() == 0
    assert not Submission.objects.exists()


def test_an_unreadable_repository_is_tried_again(copy: Copy, give_up: GiveUp) -> None:
    copy.land(give_up(), "submission-1")
    hidden = copy.repository.path.rename(copy.repository.path.with_suffix(".away"))
    assert settle_late_tags() == 0
    assert slots("submission-1") == [("refunded", "")]
    hidden.rename(copy.repository.path)
    assert settle_late_tags() == 1
    assert Submission.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("db")
def test_a_sweep_concurrent_with_the_end_of_the_push_makes_one_submission(
    copy: Copy, alice: User, the_clock: FakeClock
) -> None:
    commit = copy.commit()
    _, end = copy.ask(alice, commit, "submission-1")
    the_clock.forward(seconds=60)
    assert settle_reservations() == 1
    copy.land(commit, "submission-1")

    def apart(act: Callable[[], object]) -> None:
        try:
            act()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(apart, [settle_late_tags, end] * 4))
    assert Submission.objects.count() == 1
    assert [state for state, _ in slots("submission-1")] == ["refunded", "used"]
