"""The files of one commit, laid out in a folder."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from repositories.git_command import git


def check_out(path: Path, commit: str, target: Path) -> None:
    """Lay out `commit` of the bare repository `path` as the folder `target`: whole or not at all, safe to repeat.

    Two may do it at once. No clone, no hook and no filter takes part. The commit must have passed
    `limits.check_files`. Raises `Fault` where git fails.
    """
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".checkout-") as name:
        fresh = Path(name) / "files"
        fresh.mkdir(mode=0o755)
        apart = {"GIT_INDEX_FILE": str(Path(name).resolve() / "index"), "GIT_WORK_TREE": str(fresh.resolve())}
        git(path, "read-tree", commit, extra=apart)
        git(path, "checkout-index", "--all", extra=apart)
        _put(fresh, target)


def _put(fresh: Path, target: Path) -> None:
    try:
        fresh.rename(target)
    except OSError:
        if not target.is_dir():
            raise
        shutil.rmtree(fresh)  # another was quicker; its files are the same
