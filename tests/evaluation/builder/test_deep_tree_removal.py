"""Removal of what builds leave: deep directories, links, and names of all kinds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evaluation.builder import deep_tree_removal


def test_a_tree_of_any_depth_is_removed_and_links_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    beside, top = tmp_path / "beside", tmp_path / "top"
    beside.mkdir()
    (beside / "kept").touch()
    top.mkdir()
    (top / "link").symlink_to(beside)
    (top / "..hidden").write_text("x")
    os.mkfifo(top / "pipe")
    inside = os.open(top, os.O_RDONLY)
    for _ in range(3000):  # beyond the longest path and Python's recursion limit
        os.mkdir("d", dir_fd=inside)
        Path(f"/proc/self/fd/{inside}/file").touch()
        inside, outer = os.open("d", os.O_RDONLY, dir_fd=inside), inside
        os.close(outer)
    os.close(inside)

    deep_tree_removal.main(str(top))

    assert list(top.iterdir()) == []
    assert (beside / "kept").exists()
