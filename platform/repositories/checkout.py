"""Checkout of one commit into a folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from core.errors import HostFault
from repositories.git_command import git, has_commit


def check_out(path: Path, commit: str, target: Path) -> None:
    """Check out `commit` of the bare repository `path` into the folder `target`: completely or not at all.

    Without committed bytecode: Python runs it instead of the source, and the digest of a submission leaves it out, so
    other code could pass for a baseline. Safe to repeat and under concurrent calls. Uses no clone, hook or filter. The
    commit must have passed `file_rules.check_files`. Raise `HostFault` if this host lacks it, `Fault` where git fails.
    """
    if target.exists():
        return
    if not has_commit(path, commit):
        raise HostFault(f"this host does not have the commit {commit} of the repository {path}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".checkout-") as name:
        fresh = Path(name) / "files"
        fresh.mkdir(mode=0o755)
        apart = {"GIT_INDEX_FILE": str(Path(name).resolve() / "index"), "GIT_WORK_TREE": str(fresh.resolve())}
        git(path, "read-tree", commit, extra=apart)
        git(path, "checkout-index", "--all", extra=apart)
        _remove_bytecode(fresh)
        try:
            fresh.rename(target)
        except OSError:
            if not target.is_dir():
                raise
            shutil.rmtree(fresh)  # another call was faster, and its files are identical


def _remove_bytecode(fresh: Path) -> None:
    for folder, directories, files in os.walk(fresh):
        for name in {"__pycache__"}.intersection([*directories, *files]):
            path = Path(folder, name)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
                directories.remove(name)
            else:
                path.unlink()
