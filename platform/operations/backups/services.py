"""Make a backup of the running site, and restore a site from one."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from core import clock, event_log
from core.errors import Fault, Refusal
from core.missing_migrations_check import require_migrated, require_no_later_migration
from core.models import Event, SiteIdentity
from core.site_identity import require_identity
from evaluation import __version__
from operations.backups import database_dump, restic
from operations.backups.repository_refs import list_refs, remove_unknown_repositories, set_refs
from operations.backups.snapshots import (
    DATABASE,
    MADE_BY_SETTINGS,
    MANIFEST,
    REFS,
    STAGING,
    TRANSIENT,
    SnapshotManifest,
    entries,
)


class RestoredSite(NamedTuple):
    """What a restored site was, and which of its repositories lack objects, in words."""

    manifest: SnapshotManifest
    damaged: Sequence[str]


def last_backup() -> Event | None:
    """Return the event of the last backup, with its snapshot; None if there was none."""
    return Event.objects.filter(verb="back_up").first()


def back_up() -> restic.Stored:
    """Store database and state folder in the backup repository, while the site runs; return what was stored.

    1. The refs are listed, 2. the database is dumped, 3. the files are stored. Files are added before the rows and refs
    that name them, so the snapshot has every file that its rows and refs name, but for what the site removed meanwhile
    (`extension_points.put_right`). Raise `Refusal` where restic is not set up or another backup runs, and `Fault` where
    a step fails.
    """
    restic.require_repository()
    require_migrated()
    require_identity()
    with _alone(), _staging() as folder:
        (folder / REFS).write_text(json.dumps(list_refs()))
        database_dump.dump(folder / DATABASE)
        identity = SiteIdentity.objects.get()
        manifest = SnapshotManifest(__version__, identity.value, database_dump.kind(), clock.now().isoformat())
        (folder / MANIFEST).write_text(json.dumps(manifest._asdict()))
        stored = restic.back_up(settings.STATE, [STAGING, *entries()])
    event_log.record("back_up", identity, snapshot=stored.snapshot)
    return stored


def restore(snapshot: str) -> RestoredSite:
    """Fill an empty state folder and an empty database from a snapshot ("latest": the newest); return what it was.

    The database is filled last and in one transaction: no program of the site starts before all is there. A damaged
    repository, which may be in all snapshots, stops nothing. Raise `Refusal` where one of both is not empty, or the
    snapshot is of another kind of database or of a later version, and `Fault` where a step fails; then empty both and
    start again.
    """
    restic.require_repository()
    _require_empty_folder()
    database_dump.require_empty()
    restic.restore(snapshot, settings.STATE)
    folder = settings.STATE / STAGING
    try:
        manifest = SnapshotManifest(**json.loads((folder / MANIFEST).read_text()))
        refs = json.loads((folder / REFS).read_text())
    except (OSError, ValueError, TypeError) as error:
        raise Fault(f"snapshot {snapshot} is no backup of a site: {error}") from error
    if manifest.database != database_dump.kind():
        raise Refusal(
            f"the snapshot has a database of {manifest.database}, and DATABASE_URL names one of {database_dump.kind()}",
            fix=f"empty {settings.STATE}, and name an empty database of {manifest.database} in DATABASE_URL",
        )
    damaged = set_refs(refs)
    database_dump.load(folder / DATABASE)
    require_no_later_migration(MigrationLoader(connection))
    remove_unknown_repositories()
    shutil.rmtree(folder)
    return RestoredSite(manifest, damaged)


def _require_empty_folder() -> None:
    folder: Path = settings.STATE
    unknown = sorted(set(entries()) - MADE_BY_SETTINGS)
    if unknown or (folder / STAGING).exists():
        raise Refusal(
            f"{folder} is not empty: it has {', '.join(unknown[:3]) or STAGING}",
            fix=f"name a new folder in GAUNTLET_STATE; only {', '.join(sorted(TRANSIENT))} may be in it",
        )


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the lock of backups; raise `Refusal` where another process has it."""
    with (settings.STATE / "backup.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Refusal("another backup of this site is being made", fix="wait for its end") from error
        yield


@contextmanager
def _staging() -> Iterator[Path]:
    """Yield an empty folder in the state folder, which goes at the end."""
    folder = settings.STATE / STAGING
    shutil.rmtree(folder, ignore_errors=True)  # of a backup that was killed
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
