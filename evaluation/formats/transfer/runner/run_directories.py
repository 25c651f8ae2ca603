"""Directories of one run, and the removal of those that dead runners left."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from evaluation.domain.errors import Fault, Refusal
from evaluation.formats.transfer.runner.container_owned_files import remove_contents
from evaluation.sandbox.base import Sandbox
from evaluation.sandbox.labelled_directory import make_labelled, remove_labelled, sweep_labelled

_PREFIX = "gauntlet-batch-"
_PLACES = ("code", "input", "output", "socket")

log = logging.getLogger(__name__)


@contextmanager
def workspace(sandbox: Sandbox) -> Iterator[tuple[Path, Path, Path, Path]]:
    """Make four directories: code, input, output and socket, in one that only this user can enter.

    They are removed at the end, in `sandbox` where only the user of its containers may do that. What cannot be
    removed is logged and left to `sweep_workspaces`: it says nothing about the run.
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
        if not _remove(made, sandbox):
            log.error("%s could not be removed", made)


def sweep_workspaces(sandbox: Sandbox) -> int:
    """Remove the directories of runners of this host that are dead, as `workspace` does. Return their number."""
    return sweep_labelled(_PREFIX, partial(_remove, sandbox=sandbox))


def _remove(made: Path, sandbox: Sandbox) -> bool:
    if remove_labelled(made):
        return True
    if sandbox.base_image is None:
        return False
    socket_directory = made / _PLACES[-1]
    socket_directory.mkdir(exist_ok=True)  # an engine would make what is missing, as root
    try:
        remove_contents(sandbox, [made / name for name in _PLACES if (made / name).exists()], socket_directory)
    except (Fault, Refusal) as failure:
        log.error("%s: %s", made, failure)
    return remove_labelled(made)
