"""A competition of the transfer format on digits, and submissions that are short scripts in real repositories."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from accounts.services import create_team
from competitions.models import Competition, Entry, Organiser, RulesVersion, SampleSet
from competitions.services import enter, import_competition
from core import clock, worker_notifications
from formats.query.matches.models import Match
from formats.transfer.tournaments import run_queue, services
from formats.transfer.tournaments.engine_runs import play
from formats.transfer.tournaments.models import RepeatRun, Tournament
from formats.transfer.tournaments.player_builds import build
from repositories.models import Repository
from repositories.services import repository_of
from submissions.models import Player, Submission
from tests.platform.formats.query.matches.whole_match import ensure_match
from tests.platform.formats.transfer.tournaments.results import claimed_runs
from tests.platform.submissions.pipeline.conftest import push_files
from workers.models import Worker

COPY = 'cp "$1"/*.png "$2"/'
"""An attack that changes nothing."""

ADD = """
exec python3 - "$@" <<'END'
import sys
from pathlib import Path
from PIL import Image
source, target, epsilon = sys.argv[1:]
for file in Path(source).glob("*.png"):
    Image.open(file).point(lambda level: min(level + int(epsilon), 255)).save(Path(target) / file.name)
END"""
"""An attack that makes every image brighter by epsilon."""

CHECKSUM = """
cksum "$1"/*.png | while read -r sum size file; do echo "${file##*/},$((sum % 10 + 1))"; done > "$2\""""
"""A defence whose labels follow from the images."""


def content() -> dict[str, Any]:
    """Return the parsed file of a small competition: six digits in batches of four and two."""
    sample_set = {"source": "digits", "target_seed": 7}
    track = {"title": "A track", "quota": 5}
    return {
        "competition": {
            "slug": "transfer",
            "title": "Transfer",
            "starts_at": timezone.now().replace(year=2020, day=1),
            "ends_at": timezone.now().replace(year=2099, day=1),
            "public": True,
        },
        "rules": {
            "format": "transfer",
            "name": "small",
            "shape": [64, 64, 3],
            "classes": 10,
            "batch_images": 4,
            "epsilons": [8, 16],
            "batch_seconds": 60.0,
        },
        "tracks": {
            "attack": track | {"baselines": ["noop"]},
            "targeted_attack": track,
            "defence": track,
        },
        "sample_sets": [
            sample_set | {"name": "dev", "purpose": "development", "split": "dev", "count": 8},
            sample_set | {"name": "validation", "purpose": "validation", "split": "validation", "count": 6},
            sample_set | {"name": "test", "purpose": "test", "split": "test-1", "count": 6},
            sample_set | {"name": "final", "purpose": "final", "split": "final", "count": 6},
        ],
    }


@pytest.fixture(autouse=True)
def notifications(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, int]]]:
    """The notifications sent, with their keys; there is no broker."""
    sent: list[tuple[str, dict[str, int]]] = []
    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: sent.append((task, keys)))
    return sent


@pytest.fixture
def transfer(db: None) -> Competition:
    """The competition, imported."""
    return import_competition(content())


@pytest.fixture
def submit(transfer: Competition) -> Callable[..., Submission]:
    """Make a ready submission of a script, which nobody has pushed and nobody can run."""

    def make(slug: str, track: str, script: str) -> Submission:
        submission = _submitted(transfer, slug, track)
        submission.player, _ = Player.objects.get_or_create(
            competition=transfer, track_name=track, digest=f"sha256:{hashlib.sha256(script.encode()).hexdigest()}",
            defaults={
                "title": submission.title, "command": ["run.sh"], "repository": submission.repository,
                "commit": submission.commit, "created_at": submission.received_at,
            },
        )  # fmt: skip
        submission.state = Submission.State.READY
        submission.save()
        return submission

    return make


@pytest.fixture
def push(transfer: Competition, tmp_path: Path) -> Callable[..., Submission]:
    """Push a script to a team's repository of a track, and build it; the submission is ready."""

    def make(slug: str, track: str, script: str) -> Submission:
        submission = _submitted(transfer, slug, track)
        repository = repository_of(entry=submission.repository.entry, track=submission.repository.track)
        work = tmp_path / submission.tag.replace("submission", "work")
        write_repository(work, track, script)
        submission.commit = push_files(work, repository.path, submission.tag)
        submission.player = build(submission, lambda line: None)
        submission.state = Submission.State.READY
        submission.save()
        return submission

    return make


def _submitted(competition: Competition, slug: str, track_name: str) -> Submission:
    """A team has a further submission to a track."""
    captain = User.objects.filter(username=slug).first()
    if captain is None:
        captain = User.objects.create_user(slug, f"{slug}@example.org")
        enter(team=create_team(slug=slug, name=slug, captain=captain), competition=competition)
    number, now = Submission.objects.count() + 1, timezone.now()
    repository, _ = Repository.objects.get_or_create(
        entry=Entry.objects.get(competition=competition, team__slug=slug),
        track=competition.tracks.get(name=track_name),
        defaults={"created_at": now},
    )  # fmt: skip
    return Submission.objects.create(
        repository=repository, commit=f"{number:040x}", tag=f"submission-{number}", submitted_by=captain,
        received_at=now, title=f"{slug} {number}", licence="MIT", state_since=now,
    )  # fmt: skip


def write_repository(work: Path, track: str, script: str, **metadata: str) -> None:
    """Write a submission in the layout of 2017 to the directory `work`."""
    work.mkdir(exist_ok=True)
    kind = "defense" if track == "defence" else track
    document = {"type": kind, "container": "some/image:1", "entry_point": "run.sh"} | metadata
    (work / "metadata.json").write_text(json.dumps(document))
    (work / "run.sh").write_text(f"#!/bin/sh\n{script}\n")
    (work / "run.sh").chmod(0o755)


def play_all(tournament: Tournament) -> int:
    """Play and commit everything that waits, and what follows; return how many runs were played, but repeats."""
    played = 0
    for run in claimed_runs(tournament):
        run_queue.commit(run, play(run, threading.Event()))
        played += not isinstance(run, RepeatRun)
    return played


@pytest.fixture
def olga(transfer: Competition) -> User:
    """Organiser of the competition."""
    user = User.objects.create_user("olga", "olga@example.org", is_staff=True)
    Organiser.objects.create(competition=transfer, user=user)
    return user


@pytest.fixture
def match(competition: Competition, rules: RulesVersion, sample_sets: dict[str, SampleSet]) -> Match:
    """A match for a leaderboard of the query format, which waits."""
    model, attack = (
        Player.objects.create(
            competition=competition, track_name=track, digest=f"sha256:{track}", title=track, command=["main"],
            baseline=track, created_at=clock.now(),
        )
        for track in ("model", "untargeted")
    )  # fmt: skip
    return ensure_match(rules=rules, sample_set=sample_sets["validation"], model=model, attack=attack)


@pytest.fixture
def attacked(transfer: Competition, submit: Callable[..., Submission]) -> None:
    """Runs for a leaderboard of the transfer format, which wait."""
    transfer.tracks.update(baselines=[])
    submit("bats", "attack", COPY)
    services.advance(services.make_tournament(transfer))


@pytest.fixture
def submitted(repositories: dict[str, Repository], alice: User) -> None:
    """Two submissions of a team to the query format, which wait for a build."""
    for number in (1, 2):
        now = clock.database_now()
        Submission.objects.create(
            repository=repositories["model"],
            commit=f"{number:040x}",
            tag=f"submission-{number}",
            submitted_by=alice,
            received_at=now,
            state_since=now,
        )


@pytest.fixture
def worker(db: None) -> Worker:
    return Worker.objects.create(name="host/0", worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now())
