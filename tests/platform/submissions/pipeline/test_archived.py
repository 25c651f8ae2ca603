"""A competition that is archived while a submission waits or is built: nothing is lost, and no team pays for it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from competitions.models import Competition
from core import clock
from submissions import build_queue, state_timeouts
from submissions.build_outcomes import FAULT
from submissions.build_work import builds
from submissions.models import QuotaSlot, Submission

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sample_sets")]


@pytest.fixture
def submission(submit: Callable[..., Submission]) -> Submission:
    """A received submission."""
    return submit("model", {"main.py": "print()\n"})


def archive() -> None:
    Competition.objects.update(archived_at=clock.now())


def test_a_build_goes_on_and_a_platform_error_returns_it_to_the_queue_without_a_charge(submission: Submission) -> None:
    build = build_queue.claim(submission.pk, "one")
    assert build is not None
    archive()
    assert build_queue.begin_checks(build, timedelta(minutes=5))
    assert build_queue.release_claim(build, FAULT, "the engine stopped")
    submission.refresh_from_db()
    assert (submission.state, submission.cause) == ("received", "")
    assert not builds.waits()
    assert not builds.turns(None, clock.database_now())  # type: ignore[arg-type]


def test_one_that_waits_is_not_overdue_until_the_competition_is_taken_back(submission: Submission) -> None:
    archive()
    late = clock.now() - state_timeouts.RECEIVED
    Submission.objects.update(deadline=late, state_since=late)
    build_queue.sweep()
    submission.refresh_from_db()
    assert (submission.state, submission.overdue_at) == ("received", None)
    assert QuotaSlot.objects.get().state == QuotaSlot.State.USED
    Competition.objects.update(archived_at=None)
    assert builds.waits()
