"""A competition of the curves format, whose workers do what they are notified of."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from accounts.services import create_team, issue_token
from competitions.models import Competition, Organiser
from competitions.services import enter, import_competition
from core import clock, worker_notifications
from evaluation.baselines.bundled import BundledRepository
from evaluation.formats.registry import find_bundled
from repositories.services import repository_of
from rounds.models import Round
from rounds.planning.plan import plan_round

IDENTITY = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in
            (("NAME", "Alice"), ("EMAIL", "alice@example.org"))}  # fmt: skip


class Site:
    """A site with a competition of the digits, whose workers do what they are notified of."""

    def __init__(self, document: Mapping[str, Any], folder: Path, address: str) -> None:
        self.competition: Competition = import_competition(document)
        self.folder, self.address = folder, address
        self.messages: list[tuple[str, dict[str, int]]] = []

    def join(self, user: User) -> None:
        """Found a team of the user's name, and clone its repository."""
        team = create_team(slug=user.username, name=user.username.title(), captain=user)
        repository_of(entry=enter(team=team, competition=self.competition), track=self.competition.tracks.get())
        _, token = issue_token(user=user, name="laptop", scopes=["read", "submit"], days=1)
        address = self.address.replace("://", f"://{user.username}:{token}@")
        self.git("clone", "--quiet", f"{address}/git/{user.username}/model.git", user.username)

    def git(self, *words: str, at: str = "") -> str:
        """Run git; return what it says."""
        done = subprocess.run(
            ["git", *words], cwd=self.folder / at, capture_output=True, text=True, env=os.environ | IDENTITY
        )
        assert done.returncode in (0, 1), done.stderr
        return re.sub(r"^remote: ?", "", done.stdout + done.stderr, flags=re.MULTILINE)

    def push(self, user: User, number: int, **changed: str) -> str:
        """Commit the bundled numpy model with changed files, and push it as a submission."""
        place = self.folder / user.username
        repository: BundledRepository = find_bundled("numpy-classifier")
        shutil.copytree(repository.repository(), place, dirs_exist_ok=True)
        for name, content in changed.items():
            (place / name.replace("_", ".")).write_text(content)
        self.git("add", "--all", at=user.username)
        self.git("commit", "--quiet", "--allow-empty", "--message", f"Submission {number}", at=user.username)
        self.git("tag", f"submission-{number}", at=user.username)
        return self.git("push", "origin", "HEAD", f"submission-{number}", at=user.username)

    def plan(self, by: User) -> Round:
        """Plan a round that begins in an hour."""
        hour = timedelta(hours=1)
        return plan_round(
            competition=self.competition, title="Round 1", kind="final", schedule="", guard=False, samples=6,
            source=self.competition.sample_sets.get(name="final"), by=by,
            starts_at=clock.now() + hour, ends_at=clock.now() + 2 * hour,
        )  # fmt: skip

    def beat(self) -> None:
        """Let the workers do all sweeps, and then what they are notified of, until nothing is left."""
        self.messages += [
            (each["task"], {}) for each in current_app.conf.beat_schedule.values() if each["schedule"] == 10.0
        ]
        while self.messages:
            task, keys = self.messages.pop(0)
            current_app.tasks[task](**keys)


def document_of(root: Path, samples: int = 12) -> dict[str, Any]:
    """Return the competition of the digits, with so many secret samples and few queries."""
    document = tomllib.loads((root / "competitions/digits-curves.toml").read_text(encoding="utf-8"))
    attacks = [each | {"queries": 10} for each in document["rules"]["attacks"]]
    sets = [each | ({"count": samples} if each["purpose"] == "validation" else {}) for each in document["sample_sets"]]
    return document | {
        "rules": document["rules"] | {"attacks": attacks, "budget_linf": 0.0628, "budget_l2": 4.0},
        "sample_sets": sets,
    }


@pytest.fixture
def site(root: Path, tmp_path: Path, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> Site:
    """The site, with a queue of messages in place of a broker."""
    made = Site(document_of(root), tmp_path, live_server.url)
    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: made.messages.append((task, keys)))
    current_app.loader.import_default_modules()  # as a worker does when it starts
    return made


@pytest.fixture
def olga(site: Site) -> User:
    """The organiser."""
    user = User.objects.create_user("olga", "olga@example.org")
    Organiser.objects.create(competition=site.competition, user=user)
    return user
