"""Temporary directories that name the process that made them, so that those of dead processes are found and removed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from evaluation.sandbox.directory_removal import remove_trees
from evaluation.sandbox.host_process import runner_is_dead, runner_label

_LABEL = "runner"


def make_labelled(prefix: str) -> Path:
    """Make a directory that only this user can enter, named `prefix` and more; it holds the label of this process."""
    made = Path(tempfile.mkdtemp(prefix=prefix))
    (made / _LABEL).write_text(runner_label(), encoding="utf-8")
    return made


def remove_labelled(made: Path) -> bool:
    """Remove such a directory; return False if something of it is left."""
    # the label last: with it the next sweep finds the rest
    return remove_trees([path for path in made.glob("*") if path.name != _LABEL]) and remove_trees([made])


def sweep_labelled(prefix: str, remove: Callable[[Path], bool] = remove_labelled) -> int:
    """Remove the directories of that `prefix` whose processes, of this host, are dead. Return their number.

    `remove` removes one of them, and returns False if something of it is left.
    """
    swept = 0
    for made in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        try:
            label = (made / _LABEL).read_text(encoding="utf-8")
        except OSError:  # of another user, or removed meanwhile
            continue
        if runner_is_dead(label):
            swept += remove(made)
    return swept
