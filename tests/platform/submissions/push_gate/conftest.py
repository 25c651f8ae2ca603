"""Fixtures of the push gate tests: a working copy, and pushes without a server."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from accounts.models import User
from core import clock, worker_notifications
from repositories.git_reader import GitReader
from repositories.http.push_hooks import Push
from repositories.models import Repository
from repositories.ref_rules import NULL_OBJECT, RefUpdate
from submissions.models import QuotaSlot
from submissions.push_gate import submission_gate

MANIFEST = '[submission]\ntrack = "model"\nrun = "python main.py"\ntitle = "Wise owl"\nlicence = "MIT"\n'
SITE = "https://arena.example"
IDENTITY = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in
            (("NAME", "Alice"), ("EMAIL", "alice@example.org"))}  # fmt: skip


class Copy:
    """A team's working copy, with its bare repository on the site."""

    def __init__(self, folder: Path, repository: Repository) -> None:
        self.folder, self.repository = folder, repository
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.write({"submission.toml": MANIFEST, "main.py": "print('plays')\n"})
        self.git("init", "--quiet", "--bare", str(repository.path))

    def git(self, *words: str) -> str:
        """Return git's output."""
        done = subprocess.run(
            ["git", *words], cwd=self.folder, check=True, capture_output=True, text=True, env=os.environ | IDENTITY
        )
        return done.stdout.strip()

    def write(self, files: dict[str, str | bytes]) -> None:
        """Write files into the working copy."""
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def commit(self) -> str:
        """Commit everything and transfer the commit to the site without a tag; return it."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "Something new")
        commit = self.git("rev-parse", "HEAD")
        self._transfer(commit, "refs/heads/main")
        return commit

    def ask(self, user: User, target: str, tag: str) -> tuple[str, Callable[[], str]]:
        """Ask the push gate about a new tag on the object `target`; return its message and the end of the push."""
        update = RefUpdate(NULL_OBJECT, target, f"refs/tags/{tag}")
        push = Push(Repository.objects.get(pk=self.repository.pk), user, [update], {}, SITE)
        with GitReader(self.repository.path) as reader:
            accepted = submission_gate(push, reader)
        return accepted.message, lambda: accepted.after([update])

    def land(self, target: str, tag: str) -> None:
        """Set the tag in the site's repository, as git does between pre-receive and post-receive."""
        self._transfer(target, f"refs/tags/{tag}")

    def _transfer(self, target: str, ref: str) -> None:
        """Copy all objects to the site, and set a ref there: no process, where a push starts eight."""
        kept = self.repository.path / "objects"
        for path in (self.folder / ".git" / "objects").glob("??/*"):
            copied = kept / path.parent.name / path.name
            if not copied.exists():
                copied.parent.mkdir(exist_ok=True)
                shutil.copyfile(path, copied)
        written = self.repository.path / ref
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(f"{target}\n")


@pytest.fixture(autouse=True)
def notifications(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, int]]]:
    """The notifications sent, with their keys; there is no broker."""
    sent: list[tuple[str, dict[str, int]]] = []
    monkeypatch.setattr(worker_notifications, "notify", lambda task, **keys: sent.append((task, keys)))
    return sent


@pytest.fixture
def copy(repositories: dict[str, Repository], tmp_path: Path) -> Copy:
    """The Owls' working copy for the model track with a valid submission, not yet committed."""
    return Copy(tmp_path / "copy", repositories["model"])


@pytest.fixture
def send(copy: Copy, alice: User) -> Callable[..., str]:
    """Commit and push through the push gate as Alice; return what she reads."""

    def through(tag: str, target: str = "", user: User = alice) -> str:
        target = target or copy.commit()
        message, end = copy.ask(user, target, tag)
        copy.land(target, tag)
        return f"{message}\n{end()}"

    return through


@pytest.fixture
def take_slots(copy: Copy, alice: User) -> Callable[[int], None]:
    """Use slots of the Owls' model track."""

    def take(count: int) -> None:
        for number in range(count):
            QuotaSlot.objects.create(
                repository=copy.repository,
                commit=f"{number:040}",
                tag=f"taken-{number}",
                reserved_by=alice,
                reserved_at=clock.now(),
                state=QuotaSlot.State.USED,
            )

    return take
