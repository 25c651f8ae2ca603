"""The `gauntlet` command: one module for each subcommand."""

from __future__ import annotations

from evaluation.cli.main import main

__all__ = ["main"]
