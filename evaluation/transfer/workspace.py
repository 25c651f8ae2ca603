"""Directories of one run, and the removal of those that dead runners left."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evaluation.sandbox.host_process import runner_is_dead, runner_label

_PREFIX = "gauntlet-batch-"
_RUNNER = "runner"


@contextmanager
def workspace() -> Iterator[tuple[Path, Path, Path, Path]]:
    """Make four directories: code, input, output and socket, in one that only this user can enter."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as made:
        (Path(made) / _RUNNER).write_text(runner_label(), encoding="utf-8")
        code, inputs, written, socket_directory = (Path(made) / name for name in ("code", "input", "output", "socket"))
        for place in (code, inputs, written, socket_directory):
            place.mkdir()
            place.chmod(0o755)
        written.chmod(0o777)
        yield code, inputs, written, socket_directory


def sweep_workspaces() -> int:
    """Remove the directories of runners of this host that are dead. Return their number."""
    swept = 0
    for made in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            label = (made / _RUNNER).read_text(encoding="utf-8")
        except OSError:  # of another user, or removed meanwhile
            continue
        if runner_is_dead(label):
            shutil.rmtree(made, ignore_errors=True)
            swept += 1
    return swept
