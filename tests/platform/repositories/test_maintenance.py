"""Clean-up of repositories between pushes, and their size."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Protocol

import pytest

from competitions.models import Entry, Track
from repositories.models import Repository
from repositories.services import push_lock, repository_of, size_of
from repositories.tasks import clean_up

REFS = 300


class WorkingCopy(Protocol):
    """`Copy` of the conftest."""

    def git(self, *words: str) -> str: ...


@pytest.fixture
def cluttered(copy: WorkingCopy, entry: Entry, tracks: dict[str, Track]) -> Repository:
    """The Owls' repository as an earlier version left it: each ref a file, with a log."""
    repository = repository_of(entry=entry, track=tracks["model"])
    copy.git("push", "--quiet", str(repository.path), "main")
    head = copy.git("rev-parse", "HEAD")
    lines = "".join(f"create refs/heads/old/{number} {head}\n" for number in range(REFS))
    own = ["git", "--git-dir", str(repository.path), "-c", "core.logAllRefUpdates=true"]
    subprocess.run([*own, "update-ref", "-m", "x", "--stdin"], input=lines.encode(), check=True)
    assert len(files(repository.path / "logs")) >= REFS
    assert len(files(repository.path / "refs")) > REFS
    return repository


def files(folder: Path) -> list[str]:
    return [name for _, _, names in os.walk(folder) for name in names]


def refs_of(repository: Repository) -> list[str]:
    command = ["git", "--git-dir", str(repository.path), "for-each-ref"]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()


def test_a_clean_up_packs_the_refs_removes_the_logs_and_measures_the_size(cluttered: Repository) -> None:
    before, size = refs_of(cluttered), size_of(cluttered.path)
    clean_up()
    assert refs_of(cluttered) == before
    assert not (cluttered.path / "logs").exists()
    assert files(cluttered.path / "refs") == []
    assert not (cluttered.path / "refs" / "heads" / "old").exists()
    cluttered.refresh_from_db()
    assert cluttered.size_bytes == size_of(cluttered.path) < size


def test_it_skips_a_repository_during_a_push(cluttered: Repository) -> None:
    left = cluttered.path / "objects" / "tmp_objdir-incoming-abc"
    with push_lock(cluttered.path):
        left.mkdir()
        clean_up()
        assert left.exists()
    assert not left.exists()


def test_a_missing_or_broken_repository_does_not_stop_the_clean_up_of_others(
    cluttered: Repository, entry: Entry, tracks: dict[str, Track]
) -> None:
    gone, broken = (repository_of(entry=entry, track=tracks[kind]) for kind in ("untargeted", "targeted"))
    gone.path.rename(gone.path.with_suffix(".away"))
    (broken.path / "packed-refs").mkdir()
    (broken.path / "refs" / "heads" / "main").write_text("nothing that git knows\n")
    clean_up()
    assert files(cluttered.path / "refs") == []


def test_files_and_folders_count_in_whole_blocks(cluttered: Repository) -> None:
    before = size_of(cluttered.path)
    (cluttered.path / "refs" / "heads" / "one").write_text("small")
    (cluttered.path / "objects" / "large").write_bytes(bytes(8193))
    (cluttered.path / "anywhere").mkdir()
    assert size_of(cluttered.path) - before == 4096 + 3 * 4096 + 4096
    assert size_of(cluttered.path) > 2 * REFS * 4096, "a ref and its log take a block each"
