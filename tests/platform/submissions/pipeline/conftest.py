"""Fixtures of submission tests: real repositories with commits, and recorded notifications."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from accounts.models import User
from competitions.models import RulesVersion
from core import worker_notifications
from evaluation.builder.base import LogLine
from evaluation.builder.in_place_builder import InPlaceBuilder
from evaluation.domain.players import QueryPlayer
from formats.query.matches import player_builds
from repositories.models import Repository
from submissions import pipeline, state_timeouts
from submissions.models import QuotaSlot, Submission
from workers import fault_record, host_health, lease

BuildWith = Callable[[Callable[[LogLine], None]], None]


@pytest.fixture(autouse=True)
def notifications(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, int]]]:
    """The notifications sent, with their keys; there is no broker."""
    sent: list[tuple[str, dict[str, int]]] = []
    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: sent.append((task, keys)))
    return sent


@pytest.fixture
def rules(rules: RulesVersion) -> RulesVersion:
    """Pieces of 5: a smoke test has two, and each starts the players."""
    rules.values = rules.values | {"piece_samples": 5}
    rules.save()
    return rules


@pytest.fixture
def submit(repositories: dict[str, Repository], alice: User, tmp_path: Path) -> Callable[..., Submission]:
    """Commit a folder or files to the Owls' repository of a track; return the submission as created by a push."""

    def make(track: str, content: Path | Mapping[str, str]) -> Submission:
        repository = repositories[track]
        number = Submission.objects.count() + 1
        work = tmp_path / f"work-{number}"
        if isinstance(content, Path):
            shutil.copytree(content, work, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            work.mkdir()
            for name, text in content.items():
                (work / name).write_text(text)
        commit = push_files(work, repository.path, f"submission-{number}")
        now = timezone.now()
        submission = Submission.objects.create(
            repository=repository,
            commit=commit,
            tag=f"submission-{number}",
            submitted_by=alice,
            received_at=now,
            title="A try",
            licence="MIT",
            state_since=now,
            deadline=now + state_timeouts.RECEIVED,
        )
        QuotaSlot.objects.create(
            repository=repository,
            commit=commit,
            tag=submission.tag,
            reserved_by=alice,
            reserved_at=now,
            state=QuotaSlot.State.USED,
            submission=submission,
        )
        return submission

    return make


def push_files(work: Path, bare: Path, tag: str) -> str:
    """Store the files of a folder in a repository as a commit under a tag, as a push does; return the commit.

    With git's own importer, which is one process: a working copy, a commit and a push are fifteen.
    """
    if not bare.exists():
        subprocess.run(["git", "init", "--quiet", "--bare", str(bare)], check=True)
    stream: list[str | bytes] = [
        f"commit refs/tags/{tag}\ncommitter Alice <alice@example.org> {int(time.time())} +0000\n",
        _data(tag),
    ]
    for path in sorted(work.rglob("*")):
        name = path.relative_to(work)
        if path.is_symlink():
            stream += [f"M 120000 inline {name}\n", _data(str(path.readlink()))]
        elif path.is_file():
            mode = "100755" if path.stat().st_mode & 0o100 else "100644"
            stream += [f"M {mode} inline {name}\n", _data(path.read_bytes())]
    written = b"".join(each.encode() if isinstance(each, str) else each for each in stream)
    subprocess.run(["git", "--git-dir", str(bare), "fast-import", "--quiet"], input=written, check=True)
    return (bare / "refs" / "tags" / tag).read_text().strip()


def _data(content: str | bytes) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return b"data %d\n%b\n" % (len(raw), raw)


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let work be tried again at once after a fault, and a host that is out of service check itself when asked."""
    for module in (fault_record, host_health):
        monkeypatch.setattr(module, "PAUSES", (timedelta(0),))


@pytest.fixture
def build_with(monkeypatch: pytest.MonkeyPatch) -> BuildWith:
    """Build with a builder that does something first; a lost claim is noticed immediately."""

    def choose(first: Callable[[LogLine], None]) -> None:
        class Builder(InPlaceBuilder):
            def build(self, source: Path, *, on_log: LogLine) -> QueryPlayer:
                first(on_log)
                return super().build(source, on_log=on_log)

        monkeypatch.setattr(player_builds, "any_year_builder", lambda name, store, cache: Builder())
        monkeypatch.setattr(lease, "BEAT_SECONDS", 0.0)
        monkeypatch.setattr(pipeline, "FLUSH_SECONDS", 0.05)

    return choose
