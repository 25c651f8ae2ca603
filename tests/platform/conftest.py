"""The cast and the stage of the site's tests.

Alice captains the Owls and Bob is her team mate; Charlie is a stranger; Olga organises the competition.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.models import DateTimeField, Value
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from accounts.models import Membership, Team, User
from competitions.models import Competition, Entry, Organiser, RulesVersion, SampleSet, Track
from competitions.rules_reader import Rules, RulesReader
from competitions.sample_store import keep_samples
from config.lock_order import lock_order
from core import clock
from evaluation.builder import tree_digest
from evaluation.builder.allowed_submission_files import TreeEntry
from evaluation.formats.query.rules import QueryRules
from evaluation.sandbox.host_speed import calibrate
from formats.query.matches import repeated_pieces
from formats.query.tracks import TRACKS
from repositories.models import Repository
from tests.platform.locks import LockRecorder
from workers import calibration, host_health

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PASSWORD = "a long enough password"  # noqa: S105 - of nobody


class FakeClock:
    """A clock that moves only when a test moves it."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def forward(self, **by: float) -> datetime:
        self.at += timedelta(**by)
        return self.at


@pytest.fixture
def the_clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """`core.clock`, stopped at noon, on all hosts."""
    fake = FakeClock(NOON)
    monkeypatch.setattr(clock, "now", lambda: fake.at)
    monkeypatch.setattr(clock, "database_now", lambda: fake.at)
    monkeypatch.setattr(clock, "database_time", lambda: Value(fake.at, output_field=DateTimeField()))
    monkeypatch.setattr(clock, "database_started_within", lambda period: False)
    return fake


@pytest.fixture(autouse=True)
def _locks_in_order() -> Iterator[None]:
    """Every transaction locks rows in the site's order. SQLite has no such locks."""
    recorder = LockRecorder(lock_order())

    def watch(connection: BaseDatabaseWrapper, **signal: Any) -> None:
        if recorder not in connection.execute_wrappers:  # it may connect again
            connection.execute_wrappers.append(recorder)

    connection_created.connect(watch)
    for connection in connections.all(initialized_only=True):
        watch(connection)
    yield
    connection_created.disconnect(watch)
    for connection in connections.all(initialized_only=True):
        if recorder in connection.execute_wrappers:
            connection.execute_wrappers.remove(recorder)
    assert recorder.violations == []


@pytest.fixture(autouse=True)
def _zone_of_the_site() -> None:
    """A request sets the time zone of its thread, and the next test shall not have them."""
    timezone.deactivate()


@pytest.fixture(autouse=True)
def _no_piece_is_repeated_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """A match of a bundled model would wait for another host in one test of a hundred."""
    monkeypatch.setattr(repeated_pieces, "REPEATED", 0.0)


_measured = cache(calibrate)


@pytest.fixture(autouse=True)
def _other_tests_change_the_speed_of_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several tests share its cores and caches, and begin and end while a player plays.

    Then a worker that measures its host returns a failed smoke test to the queue, as it shall: the tests of
    `workers.calibration` say when, with the site's own tolerance. Here a process measures its host once.
    """
    monkeypatch.setattr(calibration, "STEADY", math.inf)
    monkeypatch.setattr(calibration, "calibrate", _measured)


@pytest.fixture(autouse=True)
def _a_check_of_this_host_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a sandbox that fails now and then needs more control players to be found, and one test has such a one."""
    monkeypatch.setattr(host_health, "CHECK_STARTS", 2)


@pytest.fixture(autouse=True)
def _own_folders(settings: Settings, tmp_path: Path) -> None:
    """Nothing that a test keeps outlives it, and static files need no collecting."""
    settings.STATE = tmp_path
    settings.KIT = tmp_path / "kit"
    settings.REPOSITORIES = tmp_path / "repositories"
    settings.CHECKOUTS = tmp_path / "checkouts"
    settings.INSTALLED_LAYERS = tmp_path / "installed-layers"
    cache = settings.CACHES["default"]
    own = {"LOCATION": str(tmp_path / "cache")} if "FileBased" in cache["BACKEND"] else {"KEY_PREFIX": str(tmp_path)}
    settings.CACHES = {"default": cache | own}
    settings.SANDBOX = "process"
    settings.STORAGES = settings.STORAGES | {
        "objects": settings.STORAGES["objects"] | {"OPTIONS": {"location": tmp_path / "objects"}},
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def others_read_first(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """Each page that a test requests was just requested by the public, a poll by its reader, too: it may be kept."""
    settings.ANONYMOUS_REQUESTS = 0
    request = Client.request

    def after_others(self: Client, **environ: Any) -> Any:
        if environ["REQUEST_METHOD"] in {"GET", "HEAD"}:
            for client in (Client(), self) if "HTTP_HX_REQUEST" in environ else (Client(),):
                request(client, **environ).getvalue()  # an unread file would stay open
        return request(self, **environ)

    monkeypatch.setattr(Client, "request", after_others)


def _user(name: str) -> User:
    return User.objects.create_user(name, f"{name}@example.org", PASSWORD)


@pytest.fixture
def alice(db: None) -> User:
    """Captain of the Owls."""
    return _user("alice")


@pytest.fixture
def bob(db: None) -> User:
    """Member of the Owls."""
    return _user("bob")


@pytest.fixture
def charlie(db: None) -> User:
    """In no team."""
    return _user("charlie")


@pytest.fixture
def olga(competition: Competition) -> User:
    """Organiser of the competition."""
    user = _user("olga")
    Organiser.objects.create(competition=competition, user=user)
    return user


@pytest.fixture
def root_user(db: None) -> User:
    """A superuser called root."""
    return User.objects.create_superuser("root", "root@example.org", PASSWORD)


@pytest.fixture
def competition(db: None) -> Competition:
    """A small competition on digits, under way at noon."""
    made = Competition.objects.create(
        slug="digits",
        title="Digits",
        summary="Handwritten digits.",
        starts_at=NOON - timedelta(days=365),
        ends_at=NOON + timedelta(days=3650),
        public=True,
        created_at=NOON - timedelta(days=366),
    )
    for spec in TRACKS:
        Track.objects.create(competition=made, name=spec.name, title=spec.title.capitalize(), quota=5)
    return made


@pytest.fixture
def tracks(competition: Competition) -> dict[str, Track]:
    """The three tracks by kind."""
    return {track.name: track for track in competition.tracks.all()}


@pytest.fixture
def rules(competition: Competition) -> RulesVersion:
    """Version 1: digits, 50 queries a sample, pieces of 2."""
    values = {
        "name": "digits",
        "shape": [64, 64, 3],
        "classes": 10,
        "query_budget": 50,
        "piece_samples": 2,
        "least_accuracy": 0.5,
    }
    return RulesVersion.objects.create(
        competition=competition, version=1, values=values, created_at=competition.created_at
    )


@pytest.fixture
def sample_sets(competition: Competition, rules: RulesVersion) -> dict[str, SampleSet]:
    """Ten development and six validation samples, kept for real."""
    made = {}
    for purpose, split, count in (("development", "dev", 10), ("validation", "validation", 6)):
        digest, class_names = keep_samples(
            source="digits", split=split, count=count, target_seed=7, rules=rules.rules_as(QueryRules)
        )
        made[purpose] = SampleSet.objects.create(
            competition=competition,
            name=purpose,
            purpose=purpose,
            source="digits",
            split=split,
            count=count,
            target_seed=7,
            digest=digest,
            class_names=list(class_names),
            imported_at=competition.created_at,
        )
    return made


@pytest.fixture
def owls(alice: User, bob: User) -> Team:
    """Alice's and Bob's team."""
    team = Team.objects.create(slug="owls", name="The Owls", created_at=NOON - timedelta(days=30))
    Membership.objects.create(team=team, user=alice, role=Membership.Role.CAPTAIN, joined_at=team.created_at)
    Membership.objects.create(team=team, user=bob, role=Membership.Role.MEMBER, joined_at=team.created_at)
    return team


@pytest.fixture
def entry(owls: Team, competition: Competition) -> Entry:
    """The Owls take part."""
    return Entry.objects.create(team=owls, competition=competition, joined_at=owls.created_at)


@pytest.fixture
def repositories(entry: Entry, tracks: dict[str, Track]) -> dict[str, Repository]:
    """Rows of the Owls' repositories by track; nothing on disk yet."""
    return {
        kind: Repository.objects.create(entry=entry, track=track, created_at=entry.joined_at)
        for kind, track in tracks.items()
    }


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often rules were read, and how often the files of a repository were hashed."""
    counted: Counter[str] = Counter()
    read, digest = RulesReader.read, tree_digest.digest_of_files

    def counting_read(self: RulesReader[Rules], values: Mapping[str, Any], version: int) -> Rules:
        counted["rules"] += 1
        return read(self, values, version)

    def counting_digest(files: Mapping[TreeEntry, Path]) -> str:
        counted["files"] += 1
        return digest(files)

    monkeypatch.setattr(RulesReader, "read", counting_read)
    monkeypatch.setattr(tree_digest, "digest_of_files", counting_digest)
    return counted
