"""The recent commits of a repository, for pages: read once for each state of its refs, and in bounded time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.core.cache import cache

from repositories.git_command import TookTooLongError
from repositories.git_reader import CommitInfo, GitReader
from repositories.models import Repository

READING_SECONDS = 3.0
KEPT_SECONDS = 600
KEPT_FAILURE_SECONDS = 60
"""So that a repository which takes too long is not read for every view."""


@dataclass(frozen=True)
class Recent:
    """The newest commits of a repository, newest first, and all its refs with the objects they point to."""

    commits: Sequence[CommitInfo] = ()
    refs: Mapping[str, str] = field(default_factory=dict)
    in_time: bool = True
    """Whether git could read them in the time that it has; `commits` is empty where it could not."""


def recent_of(repository: Repository, limit: int) -> Recent:
    """The newest `limit` commits of `repository`; empty where nothing was pushed."""
    if not repository.path.exists():
        return Recent()
    with GitReader(repository.path) as reader:
        try:
            refs = reader.refs(seconds=READING_SECONDS)
        except TookTooLongError:
            return Recent(in_time=False)
        commits = _kept(repository, _state_of(refs, limit))
        if commits is None:
            commits = _read(reader, limit) if refs else []
            _keep(repository, _state_of(refs, limit), commits)
    if commits == _TOO_LONG:
        return Recent(refs=refs, in_time=False)
    return Recent([_commit(each) for each in commits], refs)


_TOO_LONG: list[Any] = ["took too long"]


def _read(reader: GitReader, limit: int) -> list[Any]:
    try:
        found = reader.recent(limit, seconds=READING_SECONDS)
    except TookTooLongError:
        return _TOO_LONG
    return [[each.sha, each.subject, each.author, each.at.isoformat()] for each in found]


def _commit(kept: Sequence[str]) -> CommitInfo:
    sha, subject, author, at = kept
    return CommitInfo(sha=sha, subject=subject, author=author, at=datetime.fromisoformat(at))


def _state_of(refs: Mapping[str, str], limit: int) -> str:
    said = "\n".join(f"{at} {name}" for name, at in sorted(refs.items()))
    return f"{limit} {hashlib.sha256(said.encode(errors='surrogateescape')).hexdigest()}"


def _kept(repository: Repository, state: str) -> list[Any] | None:
    kept = cache.get(_key(repository))
    return kept["commits"] if kept is not None and kept["state"] == state else None


def _keep(repository: Repository, state: str, commits: list[Any]) -> None:
    # one entry for a repository, so that pushes fill no cache
    seconds = KEPT_FAILURE_SECONDS if commits == _TOO_LONG else KEPT_SECONDS
    cache.set(_key(repository), {"state": state, "commits": commits}, seconds)


def _key(repository: Repository) -> str:
    return f"recent-commits-{repository.pk}"
