"""A restore of a snapshot that was made while teams pushed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from pytest_django import Settings

from operations.backups import database_dump, restic, services
from operations.backups.repository_refs import list_refs
from operations.backups.snapshots import DATABASE, MANIFEST, REFS, STAGING
from repositories.models import Repository
from repositories.services import repository_of


def test_a_repository_that_was_made_after_the_dump_becomes_nobodys(
    repositories: dict[str, Repository], settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its row is lost, so the database gives its key again: to another team, which must not find its code."""
    listed, before_the_dump, after_it = repositories.values()
    settings.STATE = tmp_path / "old"
    settings.REPOSITORIES = settings.STATE / "repositories"
    text = b"commit refs/heads/main\ncommitter A <a@example.org> 1 +0000\ndata 1\n1\n"
    snapshot = settings.STATE / STAGING
    snapshot.mkdir(parents=True)
    for each in (listed, before_the_dump, after_it):
        made = repository_of(entry=each.entry, track=each.track)
        subprocess.run(["git", "-C", str(made.path), "fast-import", "--quiet"], input=text, check=True)
        if each == listed:
            (snapshot / REFS).write_text(json.dumps(list_refs()))
    manifest = {"version": "1", "site": "a" * 32, "database": database_dump.kind(), "made_at": "now"}
    (snapshot / MANIFEST).write_text(json.dumps(manifest))
    (snapshot / DATABASE).touch()
    old, settings.STATE = settings.STATE, tmp_path / "new"
    settings.STATE.mkdir()
    settings.REPOSITORIES = settings.STATE / "repositories"
    monkeypatch.setattr(restic, "require_repository", lambda: None)
    monkeypatch.setattr(restic, "restore", lambda name, folder: shutil.copytree(old, folder, dirs_exist_ok=True))
    monkeypatch.setattr(database_dump, "require_empty", lambda: None)
    monkeypatch.setattr(database_dump, "load", lambda file: after_it.delete())

    path = after_it.path
    services.restore("latest")
    assert not path.exists()
    for each in (listed, before_the_dump):
        subprocess.run(["git", "-C", str(each.path), "rev-parse", "--verify", "--quiet", "main"], check=True)
