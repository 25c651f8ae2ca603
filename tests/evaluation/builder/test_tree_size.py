"""Limits on the files of a submission, together and each, as `gauntlet check` applies them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.builder.allowed_submission_files import check_tree_size, tree_entries
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


def test_a_file_that_git_tracks_counts_although_a_pattern_of_ignored_ones_fits(tmp_path: Path) -> None:
    (tmp_path / "kept.csv").touch()
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "kept.csv"], cwd=tmp_path, check=True)
    (tmp_path / "other.csv").touch()
    (tmp_path / ".gitignore").write_text("*.csv\n")
    assert [str(entry.path) for entry in tree_entries(tmp_path)] == [".gitignore", "kept.csv"]


def test_a_virtual_environment_is_refused_by_name_unless_git_ignores_it(tmp_path: Path) -> None:
    (tmp_path / "main.py").touch()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    with pytest.raises(BuildRefusal, match=r"\.venv: a virtual environment is no part of a submission") as refused:
        check_tree_size(tmp_path)
    assert "add .venv/ to .gitignore" in refused.value.fix
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text(".venv/\n")
    check_tree_size(tmp_path)
    assert [str(entry.path) for entry in tree_entries(tmp_path)] == [".gitignore", "main.py"]


def test_it_limits_the_number_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        (tmp_path / str(number)).touch()
    monkeypatch.setenv("GAUNTLET_MAX_FILES", "3")
    check_tree_size(tmp_path)
    (tmp_path / "3").touch()
    with pytest.raises(BuildRefusal, match="4 files; at most 3 are allowed"):
        check_tree_size(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("weights.npz", "version https://git-lfs.github.com/spec/v1\n", r"weights\.npz is a Git LFS pointer"),
        ("one\ntwo", "", "control characters"),
    ],
)
def test_what_a_push_is_refused_for_is_refused(tmp_path: Path, name: str, content: str, problem: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(BuildRefusal, match=problem):
        check_tree_size(tmp_path)
