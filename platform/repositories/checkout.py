"""Checkout of one commit into a folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from core.errors import HostFault
from repositories.file_rules import checkout_bytes
from repositories.git_command import git, has_commit
from repositories.git_reader import GitReader

_GIT_SECONDS = 600.0
"""Time limit of each git process of a checkout: 2 GiB take less than a minute on a slow disk."""

_RESERVE_BYTES = 1 << 30
"""What must remain free on the disk after a checkout, for all else that the host writes."""

_BLOCK_BYTES = 4096
"""What a file takes at least."""

_ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding\n"
"""Files are checked out byte by byte, whatever the commit's own `.gitattributes` says: this file outranks them."""


def check_out(path: Path, commit: str, target: Path) -> None:
    """Check out `commit` of the bare repository `path` into the folder `target`: completely or not at all.

    Without committed bytecode: Python runs it instead of the source, and the digest of a submission leaves it out, so
    other code could pass for a baseline. Safe to repeat and under concurrent calls. Uses no clone, hook, filter or
    attribute. The commit must have passed `file_rules.check_files`. Raise `Fault` where git fails or takes too long,
    and `HostFault` where this host lacks the commit, or the disk has too little space for the files and a reserve.
    """
    if target.exists():
        return
    if not has_commit(path, commit):
        raise HostFault(f"this host does not have the commit {commit} of the repository {path}")
    target.parent.mkdir(parents=True, exist_ok=True)
    size = _checkout_size(path, commit)
    require_space(size, disk=target.parent, what=f"a checkout of {commit[:12]}")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".checkout-") as name:
        fresh = Path(name) / "files"
        fresh.mkdir(mode=0o755)
        apart = _apart(Path(name).resolve(), fresh.resolve())
        for command in (("read-tree", commit), ("checkout-index", "--all")):
            git(path, *command, seconds=_GIT_SECONDS, extra=apart)
        _remove_bytecode(fresh)
        try:
            fresh.rename(target)
        except OSError:
            if not target.is_dir():
                raise
            shutil.rmtree(fresh)  # another call was faster, and its files are identical


def require_space(size: int, *, disk: Path, what: str, reserve: int = _RESERVE_BYTES) -> None:
    """Raise `HostFault` if `disk` has less free than `size` and `reserve` bytes."""
    if (free := shutil.disk_usage(disk).free) < size + reserve:
        raise HostFault(
            f"the disk of {disk} has {free >> 20:,} MiB free; {what} needs {(size + reserve) >> 20:,} MiB, of which "
            f"{reserve >> 20:,} MiB are a reserve"
        )


def _checkout_size(path: Path, commit: str) -> int:
    with GitReader(path) as reader:
        files = reader.files(commit)
    return checkout_bytes(files) + len(files) * _BLOCK_BYTES


def _apart(folder: Path, fresh: Path) -> dict[str, str]:
    """Return the variables of a git folder below `folder`, with attributes of its own and the repository's objects."""
    own = folder / "git"
    for name in ("objects", "refs", "info"):
        (own / name).mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/none\n")
    (own / "info" / "attributes").write_text(_ATTRIBUTES)
    return {"GIT_DIR": str(own), "GIT_INDEX_FILE": str(own / "index"), "GIT_WORK_TREE": str(fresh)}


def _remove_bytecode(fresh: Path) -> None:
    for folder, directories, files in os.walk(fresh):
        for name in {"__pycache__"}.intersection([*directories, *files]):
            path = Path(folder, name)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
                directories.remove(name)
            else:
                path.unlink()
