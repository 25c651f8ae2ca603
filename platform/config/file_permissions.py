"""Private permissions of the site's files and folders."""

from __future__ import annotations

import stat
from pathlib import Path

UMASK = 0o077
"""Umask of the site's programs: new files are private to their user."""

_OTHERS = 0o077
_SITE_ENTRIES = ("secret-key", "static")
"""Entries that every program creates in the state folder (the first unless GAUNTLET_SECRET_KEY is set)."""


class SharedFolderError(OSError):
    """A folder is open to other users and is not the site's, so its mode must not change."""


def make_private_folder(path: Path, *, is_site_folder: bool) -> None:
    """Create the folder and its parents, or remove the access of other users to a site's folder.

    Raise `SharedFolderError` for a folder with other content, unless `is_site_folder`: without public access, a folder
    such as /srv or /tmp would break the host. Raise `OSError` on other failures.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = stat.S_IMODE(path.stat().st_mode)
    if not mode & _OTHERS:
        return
    entries = {each.name for each in path.iterdir()}
    if mode & stat.S_ISVTX or not (is_site_folder or not entries or entries.intersection(_SITE_ENTRIES)):
        raise SharedFolderError(
            f"is open to other users of this host (mode {mode:o}) and is not a known folder of the site"
        )
    path.chmod(mode & ~_OTHERS)


def make_database_private(path: Path) -> None:
    """Make a SQLite file and its side files private. Raise `OSError` on failure."""
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        try:
            mode = stat.S_IMODE(file.stat().st_mode)
            if mode & _OTHERS:
                file.chmod(mode & ~_OTHERS)
        except FileNotFoundError:  # SQLite removes the side files with its last connection
            continue
