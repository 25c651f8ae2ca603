"""Recent commits on the team page: content, caching and limits."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from django.test import Client

from accounts.models import User
from repositories import recent_commits
from repositories.models import Repository


class Work:
    """A working copy whose remote is the model repository of the Owls."""

    def __init__(self, folder: Path, repository: Repository) -> None:
        self._folder, self._repository = folder, repository
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("init", "--quiet", "--bare", str(repository.path))

    def git(self, *words: str) -> str:
        """Run git as Bob, and return its output."""
        identity = ("-c", "user.name=Bob", "-c", "user.email=bob@example.org")
        done = subprocess.run(["git", *identity, *words], cwd=self._folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def push(self, *subjects: str) -> None:
        """Push one commit for each subject."""
        for subject in subjects:
            self._message().write_text(subject)
            self.git("commit", "--quiet", "--allow-empty", "--file", str(self._message()))
        self.git("push", "--quiet", str(self._repository.path), "main")

    def _message(self) -> Path:
        return self._folder.with_suffix(".message")


@pytest.fixture
def work(repositories: dict[str, Repository], tmp_path: Path) -> Work:
    return Work(tmp_path / "work", repositories["model"])


class Program:
    """A script in place of `git` that records its subcommands and then runs the real program."""

    def __init__(self, folder: Path, real: str) -> None:
        self._script, self._record, self._real = folder / "git", folder / "commands", real
        self.script('exec "$REAL" "$@"')

    def script(self, script: str) -> None:
        """Replace the script; $REAL is the real program."""
        self._script.write_text(f'#!/bin/sh\nREAL={self._real}\necho "$1" >> {self._record}\n{script}\n')
        self._script.chmod(0o755)

    def commands(self) -> list[str]:
        """Return the git subcommands since the last call."""
        recorded = self._record.read_text().split() if self._record.exists() else []
        self._record.unlink(missing_ok=True)
        return recorded


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Work) -> Program:
    folder, real = tmp_path / "programs", shutil.which("git")
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return Program(folder, str(real))


def page_of(client: Client, user: User) -> str:
    client.force_login(user)
    return client.get("/teams/owls").content.decode()


def test_the_newest_commit_is_first_with_its_author_and_its_subject_escaped(
    client: Client, bob: User, work: Work
) -> None:
    work.push("A first look", "A second <b>look</b>")
    page = page_of(client, bob)
    assert page.index("A second &lt;b&gt;look") < page.index("A first look")
    assert page.count("Bob, ") == 2


def test_they_are_cached_until_a_ref_changes(client: Client, bob: User, work: Work, program: Program) -> None:
    work.push("A first look")
    page_of(client, bob)
    assert "log" in program.commands()
    assert "A first look" in page_of(client, bob)
    assert "log" not in program.commands()
    work.push("A second look")
    assert "A second look" in page_of(client, bob)
    assert "log" in program.commands()


def test_the_page_omits_them_if_reading_takes_too_long(
    client: Client, bob: User, work: Work, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_commits, "READING_SECONDS", 0.5)
    work.push("A first look")
    program.script('[ "$1" = log ] && exec sleep 60\nexec "$REAL" "$@"')
    page = page_of(client, bob)
    assert "Reading the recent commits took too long." in page
    assert "gauntlet new model" not in page, "the repository is not treated as empty"
    program.commands()
    page_of(client, bob)
    assert "log" not in program.commands(), "the failure is cached"


def test_long_subjects_are_cut(client: Client, bob: User, work: Work) -> None:
    work.push("begins " + "x" * (4 << 20))
    page = page_of(client, bob)
    assert "begins xxx" in page
    assert len(page) < 200_000
