"""Public copies: bare repositories that hold released commits with their history, and nothing else of a team's work.

Hiding the other refs of the team's own repository is not enough: with git's protocol 2 a client may ask for any object
that the repository holds.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from django.conf import settings

from core.errors import Fault
from repositories.git_command import COMMAND, environment, git, in_repository, new_repository
from repositories.models import Repository


def public_copy(repository: Repository, tags: Mapping[str, str]) -> Path:
    """Return the bare repository that holds the commits of `tags` (name: commit); create it if missing.

    A clone checks out the last tag. Safe under concurrent calls. It can be rebuilt from `repository` at any time. Raise
    `Fault` where a commit is missing.
    """
    path = _path_of(repository, tags)
    if not path.exists():
        _make(path, repository, tags)
    return path


def drop_copies(repository: Repository, *, but: Mapping[str, str]) -> None:
    """Remove the public copies of `repository`, except that of the tags `but`. Clones in progress may fail."""
    kept = _path_of(repository, but)
    for path in kept.parent.glob(f"{repository.pk}-*.git"):
        if path != kept:
            shutil.rmtree(path, ignore_errors=True)


def _path_of(repository: Repository, tags: Mapping[str, str]) -> Path:
    """Return a path that depends on the content: a copy is never changed, and one that holds too much is not found."""
    folder: Path = settings.REPOSITORIES
    held = "\n".join(f"{tag} {commit}" for tag, commit in tags.items())
    return folder / "public" / f"{repository.pk}-{hashlib.sha256(held.encode()).hexdigest()[:32]}.git"


def _make(path: Path, repository: Repository, tags: Mapping[str, str]) -> None:
    with new_repository(path) as fresh:
        _pack(repository.path, tags.values(), fresh / "objects/pack/pack")
        for tag, commit in tags.items():
            git(fresh, "update-ref", f"refs/tags/{tag}", commit)
            git(fresh, "update-ref", "--no-deref", "HEAD", commit)


def _pack(source: Path, commits: Iterable[str], target: Path) -> None:
    """Write what the commits reach, and nothing else, as one pack whose name begins with `target`."""
    try:
        subprocess.run(
            [*COMMAND, "pack-objects", "--quiet", "--revs", str(target.resolve())],
            cwd=source,
            env=environment(in_repository(source)),
            input="".join(f"{commit}\n" for commit in commits).encode(),
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        output = getattr(error, "stderr", b"").decode(errors="replace")
        raise Fault(f"{source} cannot be copied: {output or error}") from error
