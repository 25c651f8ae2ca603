"""Runs of the probe, a player that tries to break out, and the guards that both sandboxes share."""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evaluation.domain.errors import Fault
from evaluation.domain.players import Program
from evaluation.sandbox.base import Ending, Guard, PlayerRun, Resources
from evaluation.sandbox.state_directory import state_directory

PROBE = Path(__file__).with_name("probe.py")
_SECONDS = 60.0
_MIB = 1 << 20

TRIAL = Resources(cpus=0.5, memory_bytes=256 * _MIB, processes=32, scratch_bytes=8 * _MIB, log_bytes=64 << 10)
"""The limits of the probe: small, so that each is reached soon."""


class StartPlayer(Protocol):
    """A function that starts a player without a check of the host's guards."""

    def __call__(self, program: Program, /, *, socket_directory: Path, resources: Resources) -> PlayerRun: ...


@dataclass(frozen=True)
class GuardTrials:
    """Starts probes: in `image`, or in an empty directory if that is None."""

    start: StartPlayer
    image: str | None = None

    @contextlib.contextmanager
    def running(self, *act: str) -> Iterator[PlayerRun]:
        """Start the probe; end it and clean up afterwards."""
        with tempfile.TemporaryDirectory(prefix="gauntlet-probe-") as made:
            directory = Path(made)
            directory.chmod(0o755)
            (directory / "referee.sock").touch()
            program = Program(
                name="probe",
                command=("python3", "-c", PROBE.read_text(encoding="utf-8"), *act),
                digest="probe",
                directory=None if self.image else directory,
                image=self.image,
            )
            run = self.start(program, socket_directory=directory, resources=TRIAL)
            try:
                yield run
            finally:
                run.end()

    def ending(self, *act: str) -> Ending:
        """Run the probe with the command `act` and return how it ended; at most a minute."""
        with self.running(*act) as run:
            deadline = time.monotonic() + _SECONDS
            while not run.ended() and time.monotonic() < deadline:
                time.sleep(0.02)
            return run.end()

    def answer(self, *act: str) -> dict[str, Any]:
        """Return what the probe found. Raise `Fault` if something other than a limit ended it."""
        ending = self.ending(*act)
        try:
            found: dict[str, Any] = json.loads(ending.log.rstrip("\n").rpartition("\n")[2])
        except ValueError:
            raise Fault(f"the probe `{act[0]}` ended with {ending.exit_code}: {ending.log[-500:]}") from None
        return found


def network_guard(seen: dict[str, Any], *, required: bool = True) -> Guard:
    """Check that only a loop-back interface exists, and no route to a public address."""
    held = not seen["interfaces"] and seen["route"] != "reachable"
    return Guard("no network", held, f"interfaces {seen['interfaces'] or 'none'}, connect: {seen['route']}", required)


def root_guard(seen: dict[str, Any], *, required: bool = True) -> Guard:
    """Check that no mounted file system is writable, except scratch space."""
    writable = ", ".join(seen["writable"])
    return Guard("read-only root", not writable, f"writable: {writable or 'only scratch space'}", required)


def capability_guard(seen: dict[str, Any], *, required: bool = True) -> Guard:
    """Check that the player has no capability and cannot get one."""
    effective, bounding = seen["status"]["CapEff"], seen["status"]["CapBnd"]
    held = int(effective, 16) == 0 and int(bounding, 16) == 0
    return Guard("no capabilities", held, f"effective {effective}, bounding {bounding}", required)


def privilege_guard(seen: dict[str, Any], *, required: bool = True) -> Guard:
    """Check that setuid programs give no privileges."""
    return Guard(
        "no new privileges",
        seen["status"]["NoNewPrivs"] == "1",
        f"NoNewPrivs {seen['status']['NoNewPrivs']}",
        required,
    )


def socket_guard(seen: dict[str, Any], *, required: bool = True) -> Guard:
    """Check that the socket directory contains only the socket, and is read-only."""
    files, writable = seen["socket_directory"]
    held = files == ["referee.sock"] and not writable
    return Guard("socket directory read-only", held, f"holds {files}, writable: {writable}", required)


def sight_guard(seen: dict[str, Any], *, required: bool = True) -> Guard:
    """Check that the processes of the host are invisible."""
    held = seen["processes"] <= 4
    return Guard("own process namespace", held, f"{seen['processes']} processes visible", required)


def figures_guard(seen: dict[str, Any]) -> Guard:
    """Check that no counts of the whole host are in sight, which players could set for each other to read."""
    figures = ", ".join(seen["figures"])
    return Guard("counts of the host invisible", not figures, f"readable: {figures or 'none'}", required=False)


def files_guard(trials: GuardTrials, *, required: bool = True) -> Guard:
    """Check that the files of the host are invisible: those of this user, and the engine's source."""
    with tempfile.NamedTemporaryFile(dir=state_directory("probe")) as kept:
        found = trials.answer("read", kept.name, __file__)
    return Guard("host files invisible", not found["read"], f"read: {found['read'] or 'none of them'}", required)


def scratch_guard(trials: GuardTrials, *, required: bool = True) -> Guard:
    """Check that a program that fills the disk reaches the end of its scratch space."""
    found = trials.answer("fill", str(8 * TRIAL.scratch_bytes))
    held = found["written"] <= TRIAL.scratch_bytes and found["error"] == "ENOSPC"
    return Guard(
        "scratch limit", held, f"{found['written'] >> 20} MiB written, then {found['error'] or 'stopped'}", required
    )


def memory_guard(trials: GuardTrials) -> Guard:
    """Check that a program that uses too much memory is killed and reported as such."""
    ending = trials.ending("eat", str(4 * TRIAL.memory_bytes))
    held = ending.out_of_memory and ending.exit_code != 0
    seen = f"exit status {ending.exit_code}, out of memory: {ending.out_of_memory}"
    return Guard("memory limit", held, seen)


def log_guard(trials: GuardTrials) -> Guard:
    """Check that only the end of a very long output is kept."""
    ending = trials.ending("shout", str(8 * _MIB))
    size = len(ending.log.encode())
    held = 0 < size <= TRIAL.log_bytes and '"printed"' in ending.log[-100:]
    return Guard("log limit", held, f"{size} bytes kept of 8 MiB")
