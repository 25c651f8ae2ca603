"""What a snapshot holds: the state folder without transient files, a dump of the database, and the refs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from django.conf import settings

STAGING = "backup"
"""Folder in the state folder, and in a snapshot, of what is written for the snapshot."""

DATABASE, REFS, MANIFEST = "database.dump", "refs.json", "manifest.json"

TRANSIENT = frozenset({"broker", "cache", "cache-of-backups", "checkouts", "installed-layers", "logs", "static"})
"""Entries of the state folder that programs make again where they are missing."""

_TRANSIENT_ENDS = (".lock", ".partial", ".sqlite3", "-shm", "-wal")

MADE_BY_SETTINGS = frozenset({"secret-key"})
"""What reading the settings makes in an empty state folder."""


class SnapshotManifest(NamedTuple):
    """What a snapshot says of itself; `database` is the kind of the dump."""

    version: str
    site: str
    database: str
    made_at: str


def entries() -> list[str]:
    """Return the names of what the state folder has, without transient files."""
    folder: Path = settings.STATE
    return sorted(
        entry.name
        for entry in folder.iterdir()
        if entry.name not in TRANSIENT | {STAGING}
        and not entry.name.startswith(("beat-schedule", "."))
        and not entry.name.endswith(_TRANSIENT_ENDS)
    )
