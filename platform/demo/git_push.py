"""Pushes of bundled submissions to the site with git."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from core.errors import Fault
from demo.virtual_teams import Change
from evaluation.formats.registry import find_bundled
from evaluation.training.start_images import STARTS, write_starts

TAG = "submission-1"


@dataclass(frozen=True)
class Pushed:
    """Output of `git push`, and its duration in seconds."""

    output: str
    seconds: float


def push_copy(
    like: str,
    address: str,
    *,
    author: str,
    changes: Iterable[Change] = (),
    starts: str = "",
    branch: str | None = "main",
    tag: str | None = TAG,
) -> Pushed:
    """Push a changed copy of the bundled submission `like` to a branch and a tag of the repository at `address`.

    Without a tag the code is pushed but not submitted. `starts` is the data set from whose training images the start
    images are. Raise `Fault` with git's message if git fails, `Refusal` if there are no such images.
    """
    with tempfile.TemporaryDirectory(prefix="gauntlet-push-") as folder:
        copy = Path(folder) / "repository"
        write_copy(copy, like, changes)
        if starts:
            write_starts(copy / STARTS, starts)
        _git(copy, author, "init", "--quiet", "--initial-branch=main")
        _git(copy, author, "add", "--all")
        _git(copy, author, "commit", "--quiet", "--message", f"Start from {like}")
        if tag is not None:
            _git(copy, author, "tag", tag)
        started = time.monotonic()
        output = _git(copy, author, "push", address, *(ref for ref in (branch, tag) if ref is not None))
        return Pushed(output, time.monotonic() - started)


def write_copy(copy: Path, like: str, changes: Iterable[Change]) -> None:
    """Write the bundled submission `like`, changed, to the directory `copy`. Raise `Fault` for a change of nothing."""
    find_bundled(like).assemble(copy)
    for change in changes:
        _apply(change, copy)


def pushed_tags(address: str) -> set[str]:
    """Return the tags of the repository at `address`."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-push-") as folder:
        listing = _git(Path(folder), "nobody", "ls-remote", "--tags", address)
    return {line.rpartition("refs/tags/")[2] for line in listing.splitlines() if "refs/tags/" in line}


def has_code(address: str) -> bool:
    """Return whether anything was pushed to `address`."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-push-") as folder:
        return bool(_git(Path(folder), "nobody", "ls-remote", "--heads", address).strip())


def _apply(change: Change, copy: Path) -> None:
    path = copy / change.file
    text = path.read_text(encoding="utf-8")
    if change.old not in text:
        raise Fault(f"{change.file} of the bundled submission no longer holds {change.old!r}")
    path.write_text(text.replace(change.old, change.new), encoding="utf-8")


def _git(folder: Path, author: str, *arguments: str) -> str:
    identity = {
        "GIT_AUTHOR_NAME": author,
        "GIT_AUTHOR_EMAIL": f"{author}@example.org",
        "GIT_COMMITTER_NAME": author,
        "GIT_COMMITTER_EMAIL": f"{author}@example.org",
        # constant, so that equal content gives an equal commit
        "GIT_AUTHOR_DATE": "2026-01-01T12:00:00Z",
        "GIT_COMMITTER_DATE": "2026-01-01T12:00:00Z",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=os.environ | identity,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode != 0:
        raise Fault(f"git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout + done.stderr
