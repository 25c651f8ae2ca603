"""The page of a submission says organisers why it failed, and shows its attempts, events and acts."""

from __future__ import annotations

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from competitions.models import Competition, Organiser
from core import clock, event_log
from submissions.models import Build, LogChunk, QuotaSlot, Submission
from submissions.selectors import BUILD_ERROR
from submissions.submission_history import LOG_LINES, history_of


@pytest.fixture
def failed(rows: Any) -> Submission:
    """A submission that a platform error ended at its second attempt; the first one was a failure of its host."""
    submission: Submission = rows.more()
    Submission.objects.filter(pk=submission.pk).update(
        state="rejected", cause="platform", reason="fault", problem="Platform error: 3 attempts failed."
    )
    first = submission.builds.get()
    Build.objects.filter(pk=first.pk).update(outcome="host")
    second = Build.objects.create(
        submission=submission,
        attempt=2,
        worker="there/build/7",
        started_at=rows.at,
        finished_at=rows.at + timedelta(seconds=90),
        outcome="fault",
        checks=[
            {"name": "starts", "passed": True, "seen": "", "headline": "", "fix": ""},
            {"name": "labels", "passed": False, "seen": "", "headline": "no label for image 3", "fix": ""},
        ],
    )
    for number in range(3):
        lines = [f"line {number * 20 + each}" for each in range(1, 21)]
        LogChunk.objects.create(
            build=second, stage="build", first_line=number * 20 + 1, lines=20, text="\n".join(lines), at=rows.at
        )
    event_log.record("fault", submission, reason="fault", attempt=2, detail="OSError: the disk of <b> is full")
    event_log.record(BUILD_ERROR, submission, attempt=2, traceback="Traceback of two\nOSError")
    QuotaSlot.objects.filter(submission=submission).update(state="used", reason="awaits_organiser")
    submission.refresh_from_db()
    return submission


def page(client: Client, submission: Submission) -> str:
    answer = client.get(reverse("admin:submissions_submission_change", args=[submission.pk]))
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def test_it_says_why_it_failed_and_offers_the_acts(as_organiser: Client, failed: Submission) -> None:
    text = page(as_organiser, failed)
    for shown in (
        "Platform error: 3 attempts failed.",
        "OSError: the disk of <b> is full",
        "Traceback of two",
        "no label for image 3",
        "Attempt 2 on there/build/7",
        "its slot is used",
        "line 60",
    ):
        assert shown in text, shown
    assert "line 30\n" not in text
    for act in ("retry", "refund", "disqualify"):
        assert reverse(f"admin:submissions_submission_{act}", args=[failed.pk]) in text
    assert "/reinstate/" not in text


def test_attempts_and_events_are_the_newest_first_with_the_end_of_their_logs(failed: Submission) -> None:
    history = history_of(failed)
    assert [each.build.attempt for each in history.attempts] == [2, 1]
    newest = history.attempts[0]
    assert newest.log.split("\n") == [f"line {number}" for number in range(31, 61)]
    assert newest.lines_before == 60 - LOG_LINES
    assert history.attempts[1].log == "built"
    assert history.attempts[1].lines_before == 0
    assert [event.verb for event in history.events] == [BUILD_ERROR, "fault", "submit"]
    assert [each.traceback for each in history.attempts] == ["Traceback of two\nOSError", ""]


def test_its_queries_do_not_grow_with_the_attempts(failed: Submission, django_assert_num_queries: Any) -> None:
    for number in range(3, 9):
        Build.objects.create(submission=failed, attempt=number, worker="here", started_at=clock.now())
    with django_assert_num_queries(6):
        history_of(failed)


def test_organisers_of_another_competition_do_not_see_it(as_organiser: Client, failed: Submission) -> None:
    Organiser.objects.all().delete()
    other = Competition.objects.create(
        slug="other", title="Other", starts_at=clock.now(), ends_at=clock.now() + timedelta(1), created_at=clock.now()
    )
    Organiser.objects.create(competition=other, user_id=as_organiser.session["_auth_user_id"])
    answer = as_organiser.get(reverse("admin:submissions_submission_change", args=[failed.pk]))
    assert answer.status_code == 302
    assert "the disk of" not in answer.content.decode()
