"""Copies of a player's directory, each for one instance alone."""

from __future__ import annotations

import shutil
from pathlib import Path

from evaluation.sandbox.labelled_directory import make_labelled, remove_labelled, sweep_labelled

_PREFIX = "gauntlet-files-"


def copy_files(directory: Path) -> Path:
    """Return a fresh copy of `directory`; `remove_copy` removes it, `sweep_copies` after the death of this process."""
    made = make_labelled(_PREFIX)
    try:
        copy = made / "files"
        shutil.copytree(directory, copy, symlinks=True)
    except BaseException:
        remove_labelled(made)
        raise
    return copy


def remove_copy(copy: Path) -> None:
    """Remove a copy."""
    remove_labelled(copy.parent)


def sweep_copies() -> int:
    """Remove the copies that dead processes of this host left. Return their number."""
    return sweep_labelled(_PREFIX)
