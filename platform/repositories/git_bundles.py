"""Repositories as git bundles, for archives; and keys for repositories that come from one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from django.db import connection, transaction

from repositories.git_command import git, has_commit, point_head
from repositories.models import Repository

UNREFERENCED = "refs/unreferenced"
"""In a bundle, the refs of submitted commits whose tags the team has deleted."""

_SECONDS = 3600.0


def write_bundle(repository: Repository, commits: Iterable[str], target: Path) -> list[str]:
    """Write all refs of a repository, and `commits`, into the bundle `target`; return those of them that it lacks.

    Nothing is written where there is nothing. Raise `Fault` where git fails.
    """
    source = repository.path
    if not source.is_dir():
        return sorted(set(commits))
    lines = git(source, "for-each-ref", "--format=%(objectname) %(refname) %(*objectname)").decode().splitlines()
    refs = [line.split(" ") for line in lines]
    tips = {objects for id_, _, peeled in refs for objects in (id_, peeled)}
    others = {commit: has_commit(source, commit) for commit in sorted(set(commits) - tips)}
    packed = [f"{id_} {ref}\n" for id_, ref, _ in refs]
    packed += [f"{commit} {UNREFERENCED}/{commit}\n" for commit, is_there in others.items() if is_there]
    if packed:
        with tempfile.TemporaryDirectory(dir=target.parent) as name:  # with other refs, and the same objects
            view = Path(name)
            git(view, "init", "--quiet", "--bare", "--template=", "--initial-branch=main")
            (view / "packed-refs").write_text("".join(sorted(packed, key=lambda line: line.split(" ")[1])))
            objects = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str((source / "objects").resolve())}
            git(view, "bundle", "create", "--quiet", str(target.resolve()), "--all", seconds=_SECONDS, extra=objects)
    return [commit for commit, is_there in others.items() if not is_there]


def read_bundle(bundle: Path | None, target: Path) -> None:
    """Make the bare repository `target` with what a bundle holds; an empty one without. Raise `Fault`."""
    target.mkdir()
    git(target, "init", "--quiet", "--bare", "--template=", "--initial-branch=main")
    if bundle is None:
        return
    git(target, "fetch", "--quiet", "--no-tags", str(bundle.resolve()), "refs/*:refs/*", seconds=_SECONDS)
    for ref in git(target, "for-each-ref", "--format=%(refname)", UNREFERENCED).decode().split():
        git(target, "update-ref", "-d", ref)
    git(target, "pack-refs", "--all")
    point_head(target)


def reserve_keys(number: int) -> list[int]:
    """Return keys of new repositories, ascending, which no other one gets, also if they are never used.

    A folder is named by its key. One that was made for a row that was not committed must not become another team's.
    """
    table = Repository._meta.db_table
    if not number:
        return []
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", [table, number]
            )
            return sorted(key for (key,) in cursor.fetchall())
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        row = cursor.fetchone()
        if row is None:
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, number])
            return list(range(1, number + 1))
        cursor.execute("UPDATE sqlite_sequence SET seq = seq + %s WHERE name = %s", [number, table])
        return list(range(row[0] + 1, row[0] + number + 1))
