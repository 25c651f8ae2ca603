"""Register of started processes, from which a sweep finds the leftovers of dead runners."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from evaluation.sandbox.base import SOCKET_NAME
from evaluation.sandbox.directory_removal import remove_trees
from evaluation.sandbox.host_process import kill_marked, runner_is_dead
from evaluation.sandbox.state_directory import state_directory, write_atomically

MARK = "GAUNTLET_RUN"
"""The environment variable whose value marks every process of one run."""


@dataclass(frozen=True)
class RegisteredRun:
    """One run: its mark, the label of the runner that started it, and the directories made for it."""

    mark: str
    runner: str
    scratch: str
    socket_directory: str

    def write(self) -> None:
        """Write it to the register."""
        write_atomically(_file(self.mark), json.dumps(asdict(self)))

    def remove(self) -> None:
        """Remove it from the register."""
        _file(self.mark).unlink(missing_ok=True)

    def kill(self) -> None:
        """Kill its remaining processes, if they kept the environment variable."""
        kill_marked(f"{MARK}={self.mark}")


def sweep_register() -> int:
    """End the runs of dead runners and remove their leftovers. Return the number of runs.

    Those of other hosts are left alone: hosts may share the home of a user.
    """
    swept = 0
    for file in sorted(state_directory("processes").glob("*.json")):
        try:
            entry = RegisteredRun(**json.loads(file.read_text(encoding="utf-8")))
        except FileNotFoundError:  # ended, or swept by another process, meanwhile
            continue
        except (ValueError, TypeError):  # from another version of Gauntlet
            file.unlink(missing_ok=True)
            continue
        if not runner_is_dead(entry.runner):
            continue
        entry.kill()
        remove_trees([Path(entry.scratch)])
        remove_socket_directory(entry.socket_directory)
        entry.remove()
        swept += 1
    return swept


def remove_socket_directory(directory: str) -> None:
    """Remove a dead runner's socket and, if nothing else is in it, the directory around it."""
    path = Path(directory)
    try:
        (path / SOCKET_NAME).unlink(missing_ok=True)
        path.rmdir()
    except OSError:  # already gone, or not empty
        return


def _file(mark: str) -> Path:
    return state_directory("processes") / f"{mark}.json"
