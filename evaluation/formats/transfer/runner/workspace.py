"""Directories of one run, and the removal of those that dead runners left."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evaluation.sandbox.labelled_directory import make_labelled, remove_labelled, sweep_labelled

_PREFIX = "gauntlet-batch-"
_PLACES = ("code", "input", "output", "socket")

log = logging.getLogger(__name__)


@contextmanager
def workspace() -> Iterator[tuple[Path, Path, Path, Path]]:
    """Make four directories: code, input, output and socket, in one that only this user can enter.

    They are removed at the end. What cannot be removed is logged and left to `sweep_workspaces`: it says nothing about
    the run.
    """
    made = make_labelled(_PREFIX)
    try:
        code, inputs, written, socket_directory = (made / name for name in _PLACES)
        for place in (code, inputs, written, socket_directory):
            place.mkdir()
            place.chmod(0o755)
        written.chmod(0o777)
        yield code, inputs, written, socket_directory
    finally:
        if not remove_labelled(made):
            log.error("%s could not be removed", made)


def sweep_workspaces() -> int:
    """Remove the directories of runners of this host that are dead. Return their number."""
    return sweep_labelled(_PREFIX)
