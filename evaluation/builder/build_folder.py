"""Folders of this host that builds fill with gigabytes: those of killed processes are found and removed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evaluation.sandbox.labelled_directory import make_labelled, remove_labelled, sweep_labelled

_PREFIX = "gauntlet-build-"


@contextmanager
def build_folder() -> Iterator[Path]:
    """Make an empty folder; it is removed at the end, or by `sweep_build_folders` after the death of this process."""
    made = make_labelled(_PREFIX)
    try:
        folder = made / "files"
        folder.mkdir()
        yield folder
    finally:
        remove_labelled(made)


def sweep_build_folders() -> int:
    """Remove the folders of dead processes of this host. Return their number."""
    return sweep_labelled(_PREFIX)
