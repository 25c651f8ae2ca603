"""Digest of a tree, independent of times, owners and umask: equal digests are the same submission."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from evaluation.builder.allowed_submission_files import TreeEntry, tree_entries


def tree_digest(source: Path) -> str:
    """Return `sha256:` and 64 hexadecimal digits over the sorted paths, types, modes and bytes below `source`.

    Raise `BuildRefusal` for files that are not allowed (see `tree_entries`).
    """
    return digest_of_files({entry: source / entry.path for entry in tree_entries(source)})


def digest_of_files(files: Mapping[TreeEntry, Path]) -> str:
    """Return the digest of a tree with these files, each with the place of its content on this host."""
    whole = hashlib.sha256(b"gauntlet tree 1\n")
    for entry in sorted(files, key=lambda entry: os.fsencode(entry.path)):
        path = os.fsencode(entry.path)
        kind, content = _kind_and_content(entry, files[entry])
        # lengths first, so that no path can look like the end of another entry
        whole.update(b"%s %d " % (kind, len(path)) + path + content)
    return f"sha256:{whole.hexdigest()}"


def _kind_and_content(entry: TreeEntry, place: Path) -> tuple[bytes, bytes]:
    if entry.link is not None:
        return b"link", hashlib.sha256(os.fsencode(entry.link)).digest()
    with place.open("rb") as file:
        return b"program" if entry.executable else b"file", hashlib.file_digest(file, "sha256").digest()
