"""Limits on the files of a submission, together and each, as `gauntlet check` applies them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from evaluation.builder.allowed_submission_files import check_tree_size
from evaluation.domain.errors import BuildRefusal, HostRefusal


def test_it_counts_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"x" * 600)
    check_tree_size(tmp_path)
    monkeypatch.setenv("GAUNTLET_MAX_CHECKOUT_BYTES", "1000")
    with pytest.raises(BuildRefusal, match="in total; at most"):
        check_tree_size(tmp_path)


def test_it_limits_links(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for number in range(101):
        (tmp_path / f"link{number}").symlink_to("file")
    with pytest.raises(BuildRefusal, match="101 symbolic links; at most 100"):
        check_tree_size(tmp_path)


def test_a_wrong_setting_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAUNTLET_MAX_CHECKOUT_BYTES", "2 GiB")
    with pytest.raises(HostRefusal, match="GAUNTLET_MAX_CHECKOUT_BYTES='2 GiB'"):
        check_tree_size(tmp_path)


def test_a_file_that_the_site_does_not_take_is_refused_unless_git_ignores_it(tmp_path: Path) -> None:
    with (tmp_path / "weights.bin").open("wb") as file:
        file.truncate((256 << 20) + 1)
    with pytest.raises(BuildRefusal, match=r"weights\.bin has 256\.0 MiB; a file may have at most 256\.0 MiB"):
        check_tree_size(tmp_path)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    with pytest.raises(BuildRefusal, match=r"weights\.bin has"):
        check_tree_size(tmp_path)
    (tmp_path / ".gitignore").write_text("weights.bin\n")
    check_tree_size(tmp_path)
