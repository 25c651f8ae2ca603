"""Garbage collection in the programs of the site."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

from config.garbage_collection import NEW_OBJECTS

PROGRAM = """
import atexit, gc, sys
sys.path.insert(0, 'platform')
atexit.register(lambda: print(gc.get_freeze_count() > len(gc.get_objects())))  # the last of what runs at the end
import config, django
before = sum(each["collections"] for each in gc.get_stats())
django.setup()
print(sum(each["collections"] for each in gc.get_stats()) - before, gc.get_freeze_count() > 100_000)
"""


def test_it_is_rare_after_the_start() -> None:
    """All apps are ready, here as in every program of the site."""
    assert gc.isenabled()
    assert gc.get_threshold()[0] == NEW_OBJECTS


def test_it_does_not_run_during_the_start_nor_for_what_it_made_nor_at_exit(root: Path, tmp_path: Path) -> None:
    own = {"DJANGO_SETTINGS_MODULE": "config.settings", "GAUNTLET_STATE": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=root, env=os.environ | own, capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == ["0", "True", "True"]
