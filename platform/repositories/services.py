"""Creation of repositories, and the record of pushes to them."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from competitions.models import Entry, Track
from core import clock
from core.errors import Fault
from repositories.git_command import git
from repositories.models import Repository

BLOCK_BYTES = 4096


def repository_of(*, entry: Entry, track: Track) -> Repository:
    """Return the repository of a team for a track; create it, on disk too, if missing. Safe under concurrent calls."""
    if track.competition_id != entry.competition_id:
        raise Fault(f"{track} is not a track of the competition of {entry}")
    repository, _ = Repository.objects.get_or_create(entry=entry, track=track, defaults={"created_at": clock.now()})
    if not repository.path.exists():
        _make(repository.path)
    return repository


def record_push(repository: Repository) -> None:
    """Record the time of a push to `repository`, and its new size."""
    Repository.objects.filter(pk=repository.pk).update(pushed_at=clock.now())
    record_size(repository)


def record_size(repository: Repository) -> None:
    """Record the current size of `repository`."""
    Repository.objects.filter(pk=repository.pk).update(size_bytes=size_of(repository.path))


def size_of(path: Path) -> int:
    """Return the bytes that the bare repository `path` takes on disk: every file and folder, quarantine included.

    Counted in whole blocks, as file systems store files: many small files take much space.
    """
    blocks = 0
    for folder, _, names in os.walk(path):
        blocks += 1
        for name in names:
            with suppress(FileNotFoundError):  # another push moved or removed it meanwhile
                blocks += -(-os.lstat(os.path.join(folder, name)).st_size // BLOCK_BYTES)  # noqa: PTH118 - many files
    return blocks * BLOCK_BYTES


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".new-") as name:
        fresh = Path(name) / "bare.git"
        fresh.mkdir()
        git(fresh, "init", "--quiet", "--bare", "--template=", "--initial-branch=main")
        try:
            fresh.rename(path)
        except OSError:
            if not path.is_dir():
                raise
