"""Directories of one run, and the removal of those that dead runners left."""

from __future__ import annotations

import logging
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from evaluation.sandbox.host_process import runner_is_dead, runner_label

_PREFIX = "gauntlet-batch-"
_RUNNER = "runner"
_PLACES = ("code", "input", "output", "socket")

log = logging.getLogger(__name__)


@contextmanager
def workspace() -> Iterator[tuple[Path, Path, Path, Path]]:
    """Make four directories: code, input, output and socket, in one that only this user can enter.

    They are removed at the end. What cannot be removed is logged and left to `sweep_workspaces`: it says nothing about
    the run.
    """
    made = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        (made / _RUNNER).write_text(runner_label(), encoding="utf-8")
        code, inputs, written, socket_directory = (made / name for name in _PLACES)
        for place in (code, inputs, written, socket_directory):
            place.mkdir()
            place.chmod(0o755)
        written.chmod(0o777)
        yield code, inputs, written, socket_directory
    finally:
        if not _remove(made):
            log.error("%s could not be removed", made)


def sweep_workspaces() -> int:
    """Remove the directories of runners of this host that are dead. Return their number."""
    swept = 0
    for made in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            label = (made / _RUNNER).read_text(encoding="utf-8")
        except OSError:  # of another user, or removed meanwhile
            continue
        if runner_is_dead(label):
            swept += _remove(made)
    return swept


def _remove(made: Path) -> bool:
    """Remove the directory `made` of a run; return False if something of it is left."""
    # the label last: with it the next sweep finds the rest
    return _remove_trees([made / name for name in _PLACES]) and _remove_trees([made])


def _remove_trees(trees: Sequence[Path]) -> bool:
    """Remove `trees`, also where their user has no permission for a directory; return False if something is left.

    `rm` and `chmod` take trees of any depth, which `shutil.rmtree` does not, and follow no links.
    """
    for command in (["rm", "-rf"], ["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        if left := [str(tree) for tree in trees if tree.exists()]:
            subprocess.run([*command, "--", *left], check=False, capture_output=True)
    return not any(tree.exists() for tree in trees)
