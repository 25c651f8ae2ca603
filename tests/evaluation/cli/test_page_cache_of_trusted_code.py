"""A match in the sandbox for trusted code leaves the page cache of this host as it is."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evaluation.sandbox.page_cache_privacy import resident_pages
from evaluation.sandbox.sdk_tree import SDK


@pytest.mark.parametrize(
    "words",
    [("play", "--model", "MODEL", "--attack", "ATTACK", "--track", "untargeted"), ("tournament", "MODEL", "ATTACK")],
)
def test_it_drops_no_file_that_players_see(
    gauntlet: Callable[..., Any],
    path_of: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: Sequence[str],
) -> None:
    """Otherwise each match takes seconds more, and all programs read their libraries from the disk again."""
    players = {
        "MODEL": shutil.copytree(path_of("numpy-classifier"), tmp_path / "own"),
        "ATTACK": path_of("gaussian-noise"),
    }
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:  # in memory, all files are always cached
        monkeypatch.setenv("XDG_STATE_HOME", folder)  # the SDK is there, and no other test drops it
        with (SDK.kept() / "gauntlet" / "foolbox_adapter.py").open("rb") as file:
            os.fsync(file.fileno())
            size = len(file.read())
            options = ("--samples", 1, "--budget", 5, "--out", tmp_path / "out")
            status, _, err = gauntlet(*(players.get(word, word) for word in words), *options)
            assert status == 0, err
            assert 0 not in resident_pages(file.fileno(), size)
