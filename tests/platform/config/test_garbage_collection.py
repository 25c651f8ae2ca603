"""Garbage collection in the programs of the site."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

from config.garbage_collection import NEW_OBJECTS

PROGRAM = """
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count() > len(gc.get_objects())))  # the last of what runs at the end
import config
"""


def test_it_is_rare_from_the_start() -> None:
    """The settings load the package `config`, here as in every program of the site."""
    assert gc.isenabled()
    assert gc.get_threshold()[0] == NEW_OBJECTS


def test_it_does_not_run_at_exit(root: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=root / "platform", capture_output=True, text=True, check=True
    )
    assert ended.stdout == "True\n"
