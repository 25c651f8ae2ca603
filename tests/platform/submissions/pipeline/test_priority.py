"""Builds of low-priority teams come after those of others."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from accounts.models import Team, User
from competitions.models import Competition, Entry, Track
from core import clock
from core.errors import Fault
from evaluation.builder.base import LogLine
from evaluation.formats.query.catalogue import find_baseline
from repositories.models import Repository
from submissions import tasks
from submissions.build_order import place_of
from submissions.models import Build, Submission

Submit = Callable[..., Submission]
BuildWith = Callable[[Callable[[LogLine], None]], None]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sample_sets")]


@pytest.fixture
def low_priority(submit: Submit) -> Submission:
    """A submission of the Owls, who have low priority."""
    made = submit("model", find_baseline("numpy-classifier").repository())
    Entry.objects.update(low_priority=True)
    return made


@pytest.fixture
def newcomer(low_priority: Submission, competition: Competition, tracks: dict[str, Track], alice: User) -> Submission:
    """A later submission of another team, of the same commit."""
    now = clock.now()
    team = Team.objects.create(slug="newts", name="Newts", created_at=now)
    entry = Entry.objects.create(team=team, competition=competition, joined_at=now)
    repository = Repository.objects.create(entry=entry, track=tracks["model"], created_at=now)
    shutil.copytree(low_priority.repository.path, repository.path)
    return Submission.objects.create(
        repository=repository,
        commit=low_priority.commit,
        tag="submission-1",
        submitted_by=alice,
        received_at=now,
        state_since=now,
    )


@pytest.fixture(autouse=True)
def _no_builder(build_with: BuildWith) -> None:
    def fail(on_log: LogLine) -> None:
        raise Fault("the builder is away")

    build_with(fail)


def built() -> list[int]:
    """Return the submissions that were tried, in order."""
    return list(Build.objects.order_by("pk").values_list("submission", flat=True))


def test_a_newcomer_is_built_before_a_low_priority_team_that_was_first(
    low_priority: Submission, newcomer: Submission
) -> None:
    low_priority.repository.entry.refresh_from_db()
    assert (place_of(newcomer).before, place_of(low_priority).before) == (0, 1)
    for submission in (low_priority, newcomer):  # the order of the notifications
        tasks.build(submission=submission.pk)
    assert built() == [newcomer.pk, low_priority.pk]


def test_a_platform_error_is_not_retried_immediately(low_priority: Submission, newcomer: Submission) -> None:
    tasks.build(submission=newcomer.pk)
    tasks.build(submission=low_priority.pk)
    assert built() == [newcomer.pk, low_priority.pk]


def test_others_keep_their_order(low_priority: Submission, newcomer: Submission) -> None:
    Entry.objects.update(low_priority=False)
    tasks.build(submission=newcomer.pk)
    tasks.build(submission=low_priority.pk)
    assert built() == [low_priority.pk, newcomer.pk]
    assert place_of(newcomer).before == 1, "both returned to the queue, in their order of arrival"
