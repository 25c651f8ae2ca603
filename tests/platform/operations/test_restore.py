"""A restore of a snapshot that was made while repositories were made and deleted."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import Settings

from core.errors import Refusal
from operations.backups import database_dump, restic, services
from operations.backups.repository_refs import Refs, list_refs, set_refs
from operations.backups.services import RestoredSite
from operations.backups.snapshots import MANIFEST, REFS, STAGING
from repositories.models import Repository
from repositories.services import repository_of


@pytest.fixture
def restored(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Refs], RestoredSite]:
    """Restores the state folder of the site from a copy of it, with the refs that were listed before."""

    def restore(refs: Refs) -> RestoredSite:
        folder = settings.STATE / STAGING
        folder.mkdir(parents=True)
        (folder / REFS).write_text(json.dumps(refs))
        manifest = {"version": "1", "site": "a" * 32, "database": database_dump.kind(), "made_at": "now"}
        (folder / MANIFEST).write_text(json.dumps(manifest))
        old, settings.STATE = settings.STATE, tmp_path / "new"
        settings.STATE.mkdir()
        settings.REPOSITORIES = settings.STATE / "repositories"
        monkeypatch.setattr(restic, "restore", lambda name, target: shutil.copytree(old, target, dirs_exist_ok=True))
        return services.restore("latest")

    settings.STATE = tmp_path / "old"
    settings.REPOSITORIES = settings.STATE / "repositories"
    monkeypatch.setattr(restic, "require_repository", lambda: None)
    monkeypatch.setattr(database_dump, "require_empty", lambda: None)
    monkeypatch.setattr(database_dump, "load", lambda file: None)
    return restore


def test_a_repository_that_was_made_after_the_dump_becomes_nobodys(
    repositories: dict[str, Repository], restored: Callable[[Refs], RestoredSite], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its row is lost, so the database gives its key again: to another team, which must not find its code."""
    listed, before_the_dump, after_it = repositories.values()
    _pushed(listed)
    refs = list_refs()
    _pushed(before_the_dump)
    _pushed(after_it)
    monkeypatch.setattr(database_dump, "load", lambda file: Repository.objects.filter(pk=after_it.pk).delete())
    restored(refs)
    assert not after_it.path.exists()
    for each in (listed, before_the_dump):
        subprocess.run(["git", "-C", str(each.path), "rev-parse", "--verify", "--quiet", "main"], check=True)


def test_a_snapshot_is_restored_although_an_unused_repository_was_deleted_meanwhile(
    repositories: dict[str, Repository], restored: Callable[[Refs], RestoredSite]
) -> None:
    """It goes with its competition, and has nothing that could be lost; a missing one with refs is named."""
    used, unused, _ = repositories.values()
    _pushed(used)
    repository_of(entry=unused.entry, track=unused.track)
    refs = list_refs()
    assert refs[unused.path.name] == {}
    shutil.rmtree(unused.path)
    restored(refs)
    assert repository_of(entry=unused.entry, track=unused.track).path.is_dir()
    assert set_refs({"9.git": {"refs/heads/main": "a" * 40}}) == ["the snapshot lacks the repository 9.git"]


def test_a_damaged_repository_is_named_and_stops_no_restore(
    repositories: dict[str, Repository], restored: Callable[[Refs], RestoredSite]
) -> None:
    """It may have been damaged for a year, and is in all snapshots then."""
    damaged, other, _ = repositories.values()
    for each in (damaged, other):
        _pushed(each)
    refs = list_refs()
    for path in damaged.path.glob("objects/??/*"):
        path.unlink()
    site = restored(refs)
    assert [line.partition(":")[0] for line in site.damaged] == [f"the repository {damaged.path.name} is damaged"]
    assert site.manifest.version == "1"
    assert list_refs() == refs


@pytest.mark.django_db
def test_a_snapshot_of_a_later_version_is_refused(
    restored: Callable[[Refs], RestoredSite], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest one is, when an operator goes back to the version from before an update."""

    def load(file: Path) -> None:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE django_migrations (id int, app text, name text, applied timestamp)")
            cursor.execute("INSERT INTO django_migrations VALUES (1, 'rounds', '0999_later', '2026-11-21')")

    settings.MIGRATION_MODULES = {}
    monkeypatch.setattr(database_dump, "load", load)
    with pytest.raises(Refusal, match=r"does not have the migration rounds\.0999_later") as refused:
        restored({})
    assert "backup from before the update" in refused.value.fix


def _pushed(repository: Repository) -> None:
    """Make the folder of a repository, with a commit."""
    made = repository_of(entry=repository.entry, track=repository.track)
    text = b"commit refs/heads/main\ncommitter A <a@example.org> 1 +0000\ndata 1\n1\n"
    subprocess.run(["git", "-C", str(made.path), "fast-import", "--quiet"], input=text, check=True)
