"""Workers as jobs of Slurm, by its commands (seen with 22.05)."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from operations.launcher.launcher_interface import EngineError, WorkerJob

COMMAND_SECONDS = 60
WARNING_SECONDS = 90
"""Before its time limit a job gets SIGTERM: time to end the item that it plays."""

_WAITING = frozenset({"PENDING", "CONFIGURING", "REQUEUED"})
_ALIVE = _WAITING | {"RUNNING", "SUSPENDED", "STOPPED"}
_AVOIDS = "gauntlet avoids "


@dataclass(frozen=True)
class SlurmLauncher:
    """Jobs of one name, each a worker with `slots` processes on one node, for at most `minutes`.

    `settings` is the file of `manage.py join`, which every node can read; `options` are further ones of sbatch.
    """

    name: str
    root: Path
    settings: Path
    logs: Path
    slots: int
    minutes: int
    idle_seconds: int
    options: tuple[str, ...] = ()

    def hosts(self) -> set[str]:
        """Return the names of the nodes."""
        return set(_run("sinfo", "--noheader", "--Node", "--format=%N").split())

    def start(self, *, without: Sequence[str]) -> str:
        """Submit a job; return its number."""
        script = self.root / "deploy" / "slurm-worker"
        names = ",".join(without)
        # the comment says what is excluded for the launcher, and not by options of the operator
        excluded = [f"--exclude={names}", f"--comment={_AVOIDS}{names}"] if without else []
        answer = _run(
            "sbatch", "--parsable", f"--job-name={self.name}", f"--cpus-per-task={self.slots}", "--nodes=1",
            "--ntasks=1", f"--time={self.minutes}", f"--signal=B:TERM@{WARNING_SECONDS}", "--no-requeue",
            "--export=PATH,HOME", f"--output={self.logs}/worker-%j.log", *excluded, *self.options,
            str(script), str(self.root), str(self.settings), str(self.slots), str(self.idle_seconds),
        )  # fmt: skip
        return answer.strip().partition(";")[0]

    def jobs(self) -> list[WorkerJob]:
        """Return the jobs of this name that wait or run."""
        rows = _run("squeue", "--noheader", "--me", f"--name={self.name}", "--format=%i|%T|%r|%k").splitlines()
        found = (row.split("|", maxsplit=3) for row in rows)
        return [
            WorkerJob(
                number, running=state not in _WAITING, reason="" if why == "None" else why, without=_avoided(comment)
            )
            for number, state, why, comment in found
            if state in _ALIVE
        ]

    def cancel(self, numbers: Sequence[str]) -> None:
        """Cancel jobs."""
        _run("scancel", *numbers)


def _avoided(comment: str) -> frozenset[str]:
    """Return the nodes that `SlurmLauncher.start` left out of a job."""
    named = comment.startswith(_AVOIDS)
    return frozenset(comment.removeprefix(_AVOIDS).split(",")) if named else frozenset()


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=COMMAND_SECONDS)
    except subprocess.CalledProcessError as error:
        raise EngineError(f"{command[0]}: {error.stderr.strip() or error}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"{command[0]} cannot be run: {error}") from error
    return done.stdout
