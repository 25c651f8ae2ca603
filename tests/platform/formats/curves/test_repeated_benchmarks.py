"""What a new version of the rules makes again in the curves format, with the time that it took before."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from accounts.models import User
from accounts.services import create_team
from competitions.formats import competition_formats
from competitions.models import Competition
from competitions.services import enter, import_competition
from core import clock
from formats.curves.models import Benchmark
from formats.curves.requests_and_scores import sweep
from repositories.models import Repository
from submissions.models import Submission
from tests.platform.formats.curves.conftest import document_of


@pytest.fixture
def curves(db: None, root: Path) -> Competition:
    """A competition of four attacks."""
    return import_competition(document_of(root, samples=2))


def test_every_submission_is_benchmarked_again(curves: Competition, alice: User) -> None:
    def sentence() -> str:
        return str(competition_formats.of(curves).repeated_work(curves))

    assert sentence() == "No submission is evaluated again."
    entry = enter(team=create_team(slug="owls", name="Owls", captain=alice), competition=curves)
    repository = Repository.objects.create(entry=entry, track=curves.tracks.get(), created_at=clock.now())
    for number in range(3):
        Submission.objects.create(
            repository=repository, commit=f"{number:040x}", tag=f"submission-{number}", submitted_by=alice,
            received_at=clock.now(), title="A model", licence="MIT", state_since=clock.now(),
            state=Submission.State.READY if number else Submission.State.WITHDRAWN,
        )  # fmt: skip
    sweep()
    assert sentence() == "2 submissions are evaluated again: no time is known yet."
    first, now = Benchmark.objects.order_by("pk").first(), clock.now()
    assert first is not None
    Benchmark.objects.filter(pk=first.pk).update(
        state=Benchmark.State.PLAYED, claimed_at=now - timedelta(seconds=90), played_at=now
    )
    assert sentence() == "2 submissions are evaluated again: about 12 min of worker time.", "eight benchmarks of 90 s"
