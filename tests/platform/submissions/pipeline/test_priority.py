"""Builds of teams of low priority give way to those of others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from accounts.models import Team, User
from competitions.models import Competition, Entry, SampleSet, Track
from core import clock
from core.errors import Fault
from evaluation.builder.base import LogLine
from repositories.models import Repository
from submissions import tasks
from submissions.models import Build, Submission
from submissions.selectors import built_before

Submit = Callable[..., Submission]
BuildWith = Callable[[Callable[[LogLine], None]], None]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sample_sets")]


@pytest.fixture
def house(submit: Submit, root: Path) -> Submission:
    """The Owls', who have low priority."""
    made = submit("model", root / "evaluation/baselines/numpy-classifier")
    Entry.objects.update(low_priority=True)
    return made


@pytest.fixture
def newcomer(house: Submission, competition: Competition, tracks: dict[str, Track], alice: User) -> Submission:
    """Sent later, by a team like any other. Nobody can build it: its repository is empty."""
    now = clock.now()
    team = Team.objects.create(slug="newts", name="Newts", created_at=now)
    entry = Entry.objects.create(team=team, competition=competition, joined_at=now)
    repository = Repository.objects.create(entry=entry, track=tracks["model"], created_at=now)
    return Submission.objects.create(
        repository=repository, commit="a" * 40, tag="submission-1", submitted_by=alice, received_at=now, state_since=now
    )


@pytest.fixture(autouse=True)
def _no_builder(build_with: BuildWith) -> None:
    def fail(on_log: LogLine) -> None:
        raise Fault("the builder is away")

    build_with(fail)


def test_it_works(house: Submission, newcomer: Submission) -> None:
    house.repository.entry.refresh_from_db()
    assert list(built_before(newcomer)) == []
    assert list(built_before(house)) == [newcomer]
    tasks.build(submission=house.pk)
    assert list(Build.objects.order_by("pk").values_list("submission", flat=True)) == [newcomer.pk, house.pk]


def test_what_failed_on_our_side_is_not_tried_again_at_once(house: Submission, newcomer: Submission) -> None:
    tasks.build(submission=newcomer.pk)
    tasks.build(submission=house.pk)
    assert list(Build.objects.order_by("pk").values_list("submission", flat=True)) == [newcomer.pk, house.pk]


def test_others_keep_their_order(house: Submission, newcomer: Submission, sample_sets: dict[str, SampleSet]) -> None:
    Entry.objects.update(low_priority=False)
    tasks.build(submission=newcomer.pk)
    tasks.build(submission=house.pk)
    assert list(Build.objects.order_by("pk").values_list("submission", flat=True)) == [newcomer.pk, house.pk]
    newest = Submission.objects.get(pk=newcomer.pk)
    assert list(built_before(newest)) == [house], "both were given back, and wait in the order in which they came"
