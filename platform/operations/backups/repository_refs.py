"""The refs of all repositories at one moment.

Objects of a repository are only ever added, and a push adds them before its refs. So files that are copied after the
refs were listed have every object of the list, and a repository restored from them gets the refs of the list. One that
was made after the dump of the database, and before the copy, has no row: it is removed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from django.conf import settings

from core.errors import Fault
from repositories.git_command import git
from repositories.models import Repository

Refs = dict[str, dict[str, str]]
"""Of each repository, by the name of its folder, the object of each ref."""

_SECONDS = 600.0


def list_refs() -> Refs:
    """Return the refs of every repository. Raise `Fault` where git fails."""
    folder: Path = settings.REPOSITORIES
    return {path.name: _refs_of(path) for path in sorted(folder.glob("*.git"))}


def set_refs(refs: Refs) -> list[str]:
    """Give every repository its refs of the list, and no others. Return in words which ones lack an object of them."""
    damaged = []
    for name, objects in refs.items():
        path = settings.REPOSITORIES / name
        if not path.is_dir() and not objects:
            continue  # never used, and deleted before the copy: it is made again when it is needed
        if not path.is_dir():
            damaged.append(f"the snapshot lacks the repository {name}")
            continue
        shutil.rmtree(path / "refs")
        (path / "refs").mkdir()
        (path / "packed-refs").write_text("".join(f"{id_} {ref}\n" for ref, id_ in sorted(objects.items())))
        try:
            git(path, "fsck", "--connectivity-only", "--no-dangling", "--no-progress", seconds=_SECONDS)
        except Fault as fault:
            damaged.append(f"the repository {name} is damaged: {fault}")
    return damaged


def remove_unknown_repositories() -> None:
    """Remove the folders that no row of the database names: those that were made after its dump, and before the copy.

    The database gives their keys again, and another team would get the code in them.
    """
    known = {f"{key}.git" for key in Repository.objects.values_list("pk", flat=True)}
    folder: Path = settings.REPOSITORIES
    for path in sorted(folder.glob("*.git")):
        if path.name not in known:
            shutil.rmtree(path)


def _refs_of(path: Path) -> dict[str, str]:
    lines = git(path, "for-each-ref", "--format=%(objectname) %(refname)").decode().splitlines()
    return {ref: id_ for id_, ref in (line.split(" ", 1) for line in lines)}
