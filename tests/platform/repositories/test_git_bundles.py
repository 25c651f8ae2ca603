"""Repositories that come from an archive."""

from __future__ import annotations

import subprocess
from pathlib import Path

from repositories.git_bundles import read_bundle


def test_a_clone_of_an_imported_repository_has_files_whatever_its_branch_is_called(tmp_path: Path) -> None:
    def git(*words: str | Path) -> None:
        identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        subprocess.run(["git", *identity, *words], cwd=tmp_path / "work", check=True, capture_output=True)

    (tmp_path / "work").mkdir()
    git("init", "--quiet", "--initial-branch=master")
    (tmp_path / "work" / "main.py").touch()
    git("add", "--all")
    git("commit", "--quiet", "--message", "work")
    git("bundle", "create", tmp_path / "bundle", "--all")

    read_bundle(tmp_path / "bundle", tmp_path / "imported.git")
    git("clone", "--quiet", tmp_path / "imported.git", tmp_path / "clone")
    assert (tmp_path / "clone" / "main.py").is_file()
