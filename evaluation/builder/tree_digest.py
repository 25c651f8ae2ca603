"""Digest of a tree, independent of times, owners and umask: equal digests are the same submission."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from evaluation.builder.source_tree import TreeEntry, tree_entries


def tree_digest(source: Path) -> str:
    """Return `sha256:` and 64 hexadecimal digits over the sorted paths, types, modes and bytes below `source`.

    Raise `BuildRefusal` for files that are not allowed (see `tree_entries`).
    """
    whole = hashlib.sha256(b"gauntlet tree 1\n")
    for entry in tree_entries(source):
        path = os.fsencode(entry.path)
        kind, content = _kind_and_content(source, entry)
        # lengths first, so that no path can look like the end of another entry
        whole.update(b"%s %d " % (kind, len(path)) + path + content)
    return f"sha256:{whole.hexdigest()}"


def _kind_and_content(source: Path, entry: TreeEntry) -> tuple[bytes, bytes]:
    if entry.link is not None:
        return b"link", hashlib.sha256(os.fsencode(entry.link)).digest()
    with (source / entry.path).open("rb") as file:
        return b"program" if entry.executable else b"file", hashlib.file_digest(file, "sha256").digest()
