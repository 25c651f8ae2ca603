"""A team with a ready model, and bundled attacks that it may challenge."""

from __future__ import annotations

import pytest

from accounts.models import User
from competitions.models import RulesVersion, SampleSet
from core import worker_notifications
from repositories.models import Repository
from submissions.models import Submission
from tests.platform.formats.query.challenges.requests import list_baselines, ready


@pytest.fixture(autouse=True)
def notifications(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The notifications sent; there is no broker."""
    sent: list[str] = []
    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: sent.append(task))
    return sent


@pytest.fixture
def model(
    repositories: dict[str, Repository], rules: RulesVersion, sample_sets: dict[str, SampleSet], alice: User
) -> Submission:
    """A ready model of the Owls; the competition lists bundled submissions on all tracks."""
    list_baselines(repositories["model"])
    return ready(repositories["model"], alice)
