"""The `gauntlet` command: one module for each subcommand."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    sys.exit("gauntlet: Windows lacks what players run in\n  fix: install gauntlet in WSL (`wsl --install`)")

from evaluation.cli.main import main

__all__ = ["main"]
