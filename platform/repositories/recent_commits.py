"""Recent commits of a repository for pages: cached per state of its refs, and read in bounded time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from core import optional_cache
from repositories.git_command import GitTimeoutError
from repositories.git_reader import CommitInfo, GitReader
from repositories.models import Repository

READING_SECONDS = 3.0
KEPT_SECONDS = 600
KEPT_FAILURE_SECONDS = 60
"""Delay before a repository that takes too long is read again."""


@dataclass(frozen=True)
class Recent:
    """The newest commits of a repository, newest first, and all its refs with the objects they point to."""

    commits: Sequence[CommitInfo] = ()
    refs: Mapping[str, str] = field(default_factory=dict)
    in_time: bool = True
    """False if git took too long; `commits` is empty then."""


_TOO_LONG: list[Any] = ["took too long"]


def recent_of(repository: Repository, limit: int) -> Recent:
    """Return the newest `limit` commits of `repository`; empty if nothing was pushed."""
    if not repository.path.exists():
        return Recent()
    with GitReader(repository.path) as reader:
        try:
            refs = reader.refs(seconds=READING_SECONDS)
        except GitTimeoutError:
            return Recent(in_time=False)
        # one entry per repository, so that pushes do not fill the cache
        key, state = f"recent-commits-{repository.pk}", _state_of(refs, limit)
        kept = optional_cache.get(key)
        if kept is not None and kept["state"] == state:
            commits = kept["commits"]
        else:
            commits = _read(reader, limit) if refs else []
            seconds = KEPT_FAILURE_SECONDS if commits == _TOO_LONG else KEPT_SECONDS
            optional_cache.put(key, {"state": state, "commits": commits}, seconds)
    if commits == _TOO_LONG:
        return Recent(refs=refs, in_time=False)
    found = [CommitInfo(sha, subject, author, datetime.fromisoformat(at)) for sha, subject, author, at in commits]
    return Recent(found, refs)


def _read(reader: GitReader, limit: int) -> list[Any]:
    try:
        found = reader.recent(limit, seconds=READING_SECONDS)
    except GitTimeoutError:
        return _TOO_LONG
    return [[each.sha, each.subject, each.author, each.at.isoformat()] for each in found]


def _state_of(refs: Mapping[str, str], limit: int) -> str:
    listing = "\n".join(f"{at} {name}" for name, at in sorted(refs.items()))
    return f"{limit} {hashlib.sha256(listing.encode(errors='surrogateescape')).hexdigest()}"
