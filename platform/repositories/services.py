"""Repositories on disk: creation, the lock that pushes share, clean-up between pushes, and size."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from competitions.models import Entry, Track
from core import clock, platform_error_report
from core.errors import Fault
from repositories.git_command import git, new_repository, point_head
from repositories.models import Repository

log = logging.getLogger(__name__)

BLOCK_BYTES = 4096
LEFTOVERS = (
    "objects/tmp_objdir-*", "objects/incoming-*", "objects/pack/tmp_*", "objects/pack/.tmp-*",
    "HEAD.lock", "packed-refs.lock", "packed-refs.new", "refs/**/*.lock",
)  # fmt: skip
"""What a killed git leaves behind: objects of a push, and locks, on which every later change of the ref would fail."""
PACK_SECONDS = 30.0


def repository_of(*, entry: Entry, track: Track) -> Repository:
    """Return the repository of a team for a track; create it, on disk too, if missing. Safe under concurrent calls."""
    if track.competition_id != entry.competition_id:
        raise Fault(f"{track} is not a track of the competition of {entry}")
    repository, _ = Repository.objects.get_or_create(entry=entry, track=track, defaults={"created_at": clock.now()})
    if not repository.path.exists():
        with new_repository(repository.path):
            pass
    return repository


def record_push(repository: Repository, size: int) -> None:
    """Record the time of a push to `repository`, and its new size in bytes."""
    Repository.objects.filter(pk=repository.pk).update(pushed_at=clock.now(), size_bytes=size)


@contextmanager
def push_lock(path: Path) -> Iterator[None]:
    """Hold the lock of one push to the bare repository `path`, or another change of its refs, which all of them share.

    What a killed git left behind is removed only while nobody pushes: before the first push, and after the last.
    """
    with (path / "pushes.lock").open("a") as file:
        _clean_up_if_alone(file, path)
        fcntl.flock(file, fcntl.LOCK_SH)
        try:
            yield
        finally:
            _clean_up_if_alone(file, path)


def clean_up(repository: Repository) -> None:
    """Clean up `repository` if nobody pushes to it now, and record its size. Raise `OSError`."""
    with (repository.path / "pushes.lock").open("a") as file:
        _clean_up_if_alone(file, repository.path)
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


def _clean_up_if_alone(file: IO[str], path: Path) -> None:
    """Remove leftovers and pack the refs, if the lock `file` of `path` can be held alone."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    for pattern in LEFTOVERS:
        for left in path.glob(pattern):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
    shutil.rmtree(path / "logs", ignore_errors=True)  # ref logs of an earlier version
    _pack_refs(path)


def _pack_refs(path: Path) -> None:
    """Keep all refs in one file: each loose ref takes a disk block, and time whenever refs are listed."""
    refs = path / "refs"
    try:
        if any(names for _, _, names in os.walk(refs)):
            git(path, "pack-refs", "--all", seconds=PACK_SECONDS)
            point_head(path)
    except Fault as fault:  # the next push tries again; this one is accepted
        platform_error_report.report(log, fault, "the refs of %s cannot be packed", path)
    for folder, _, _ in os.walk(refs, topdown=False):
        if Path(folder) not in (refs, refs / "heads", refs / "tags"):
            with suppress(OSError):  # not empty
                Path(folder).rmdir()
