"""Files and folders that other users of the host cannot open."""

from __future__ import annotations

import stat
from pathlib import Path

UMASK = 0o077
"""What the site's programs make is for their own user alone."""

_OTHERS = 0o077
_OURS = ("secret-key", "static")
"""What every program of a site makes in its state folder when it starts; the first where it was not given."""


class SharedFolderError(OSError):
    """A folder is open to other users, and so it should stay: it is not the site's."""


def make_private_folder(path: Path, *, ours: bool) -> None:
    """Make the folder and its parents, or narrow a site's folder that is open to others; raises `OSError`.

    One that holds something and nothing of a site is refused, unless it is known to be `ours`: narrowed, a folder such
    as /srv or /tmp would break the host.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = stat.S_IMODE(path.stat().st_mode)
    if not mode & _OTHERS:
        return
    held = {each.name for each in path.iterdir()}
    if mode & stat.S_ISVTX or not (ours or not held or held.intersection(_OURS)):
        raise SharedFolderError(f"is open to other users of this host (mode {mode:o}) and is not known as a site's")
    path.chmod(mode & ~_OTHERS)


def narrow_database(path: Path) -> None:
    """Close a SQLite file, and what SQLite keeps beside it, to other users; raises `OSError`."""
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        try:
            mode = stat.S_IMODE(file.stat().st_mode)
            if mode & _OTHERS:
                file.chmod(mode & ~_OTHERS)
        except FileNotFoundError:  # SQLite removes them with its last connection
            continue
