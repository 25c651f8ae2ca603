"""The modules of `player/` as a tree that a sandbox shows to submissions of earlier years, beside the SDK."""

from __future__ import annotations

from pathlib import Path

from evaluation.sandbox.module_tree import ModuleTree

SOURCE = Path(__file__).resolve().parent / "player"
"""The modules in this checkout, which players in bubblewrap do not see."""

START = "start_2018.py"
"""The script that starts a submission of 2018, with its side as the argument."""

START_2017 = "start_2017.py"
"""The script that starts a submission of 2017, with its entry point and arguments."""

PLAYER_MODULES = ModuleTree(SOURCE, base=SOURCE, kept_in="legacy-modules")
