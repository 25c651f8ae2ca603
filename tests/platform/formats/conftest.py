"""A competition of each format in which teams have ready submissions."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from accounts.models import User
from accounts.services import create_team
from competitions.models import Competition, Entry, Organiser, SampleSet, Track
from competitions.services import enter, import_competition
from core import clock, worker_notifications
from repositories.models import Repository
from rounds.models import Round
from rounds.planning.plan import plan_round
from submissions.models import Player, QuotaSlot, Submission
from tests.platform.formats.test_conformance import document_of


class Open(NamedTuple):
    """A competition in which a team has a ready submission to each track."""

    competition: Competition
    olga: User
    captain: User

    def plan(self, by: User) -> Round:
        """Plan a round on the final samples, whose window begins now."""
        now = clock.now()
        return plan_round(
            competition=self.competition, title="Final", kind="final", schedule="ladder-2", guard=False, samples=4,
            source=self.competition.sample_sets.get(purpose=SampleSet.Purpose.FINAL), by=by,
            starts_at=now + timedelta(seconds=1), ends_at=now + timedelta(hours=2), objection_days=3,
        )  # fmt: skip


@pytest.fixture
def opened(db: None, root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Open:
    """A competition of the format, which Olga organises."""
    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: None)
    document = document_of(root, name)
    tracks = {track: values | {"baselines": []} for track, values in document["tracks"].items()}
    few = [each | {"count": min(each["count"], 6)} for each in document["sample_sets"]]
    competition = import_competition(document | {"tracks": tracks, "sample_sets": few})
    olga, alice, bob = (User.objects.create_user(each, f"{each}@example.org") for each in ("olga", "alice", "bob"))
    Organiser.objects.create(competition=competition, user=olga)
    for slug, captain in (("owls", alice), ("foxes", bob)):
        entry = enter(team=create_team(slug=slug, name=slug.title(), captain=captain), competition=competition)
        for track in competition.tracks.all():
            submit_ready(entry, track, captain)
    return Open(competition, olga, alice)


def submit_ready(entry: Entry, track: Track, captain: User) -> None:
    """A team has a ready submission to a track."""
    now, commit = clock.now(), f"{entry.pk:020x}{track.pk:020x}"
    repository = Repository.objects.create(entry=entry, track=track, created_at=now)
    player = Player.objects.create(
        competition=track.competition, track_name=track.name, digest=f"sha256:{commit}", title="Wise", command=["main"],
        repository=repository, commit=commit, created_at=now,
    )  # fmt: skip
    submission = Submission.objects.create(
        repository=repository, commit=commit, tag="submission-1", submitted_by=captain, received_at=now, title="Wise",
        licence="MIT", state=Submission.State.READY, state_since=now, player=player,
    )  # fmt: skip
    QuotaSlot.objects.create(
        repository=repository, commit=commit, tag="submission-1", reserved_by=captain, reserved_at=now,
        state=QuotaSlot.State.USED, submission=submission,
    )  # fmt: skip
