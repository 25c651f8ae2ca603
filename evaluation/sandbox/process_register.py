"""The register of started processes: what a sweep reads to find what dead runners have left behind."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from evaluation.sandbox.base import SOCKET_NAME
from evaluation.sandbox.host_process import HostProcess, kill_marked
from evaluation.sandbox.state_directory import state_directory, write_atomically

MARK = "GAUNTLET_RUN"
"""The environment variable whose value marks every process of one run."""


@dataclass(frozen=True)
class Entry:
    """One run: its mark, the runner that started it, its process, and the directories made for it."""

    mark: str
    runner_pid: int
    runner_started: int
    pid: int
    started: int
    scratch: str
    socket_directory: str

    def write(self) -> None:
        """Put it into the register."""
        write_atomically(_file(self.mark), json.dumps(asdict(self)))

    def strike(self) -> None:
        """Take it out of the register."""
        _file(self.mark).unlink(missing_ok=True)

    def kill(self) -> None:
        """Kill what still runs of it, as far as it kept its environment."""
        kill_marked(f"{MARK}={self.mark}")


def sweep_register() -> int:
    """End the runs whose runner is dead and remove what they left; how many there were."""
    swept = 0
    for file in sorted(state_directory("processes").glob("*.json")):
        try:
            entry = Entry(**json.loads(file.read_text(encoding="utf-8")))
        except FileNotFoundError:  # ended, or swept by another, meanwhile
            continue
        except (ValueError, TypeError):  # of another version of ours
            file.unlink(missing_ok=True)
            continue
        if HostProcess(entry.runner_pid, entry.runner_started).alive():
            continue
        entry.kill()
        shutil.rmtree(entry.scratch, ignore_errors=True)
        remove_socket_directory(entry.socket_directory)
        entry.strike()
        swept += 1
    return swept


def remove_socket_directory(directory: str) -> None:
    """Remove a dead runner's socket and, if nothing else is in it, the directory around it."""
    path = Path(directory)
    try:
        (path / SOCKET_NAME).unlink(missing_ok=True)
        path.rmdir()
    except OSError:  # gone already, or something of somebody else's is in it
        return


def _file(mark: str) -> Path:
    return state_directory("processes") / f"{mark}.json"
