"""Running the probe, the player that tries to break out, and the guards that both sandboxes are asked for alike."""

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
from evaluation.domain.players import Player, Track
from evaluation.sandbox.base import Ending, Guard, Resources, Run
from evaluation.sandbox.state_directory import state_directory

PROBE = Path(__file__).with_name("probe.py")
_SECONDS = 60.0
_MIB = 1 << 20

TRIAL = Resources(cpus=0.5, memory_bytes=256 * _MIB, processes=32, scratch_bytes=8 * _MIB, log_bytes=64 << 10)
"""What the probe may use: little, so that a limit is met soon."""


class Starts(Protocol):
    """Starting a player, without asking first whether the host is fit for it."""

    def __call__(self, player: Player, *, socket_directory: Path, resources: Resources) -> Run: ...


@dataclass(frozen=True)
class GuardTrials:
    """Starts probes: in `image`, or in an empty directory where that is None."""

    start: Starts
    image: str | None = None

    @contextlib.contextmanager
    def running(self, *act: str) -> Iterator[Run]:
        """The probe, started; ended and cleaned up afterwards."""
        with tempfile.TemporaryDirectory(prefix="gauntlet-probe-") as made:
            directory = Path(made)
            directory.chmod(0o755)
            (directory / "referee.sock").touch()
            player = Player(
                name="probe",
                track=Track.MODEL,
                command=("python3", "-c", PROBE.read_text(encoding="utf-8"), *act),
                digest="probe",
                directory=None if self.image else directory,
                image=self.image,
            )
            run = self.start(player, socket_directory=directory, resources=TRIAL)
            try:
                yield run
            finally:
                run.end()

    def ending(self, *act: str) -> Ending:
        """How the probe ended that was told to `act`; a minute at most."""
        with self.running(*act) as run:
            deadline = time.monotonic() + _SECONDS
            while not run.ended() and time.monotonic() < deadline:
                time.sleep(0.02)
            return run.end()

    def answer(self, *act: str) -> dict[str, Any]:
        """What the probe found; raises `Fault` where it died of something else than a limit."""
        ending = self.ending(*act)
        try:
            found: dict[str, Any] = json.loads(ending.log.rstrip("\n").rpartition("\n")[2])
        except ValueError:
            raise Fault(f"the probe `{act[0]}` ended with {ending.exit_code}: {ending.log[-500:]}") from None
        return found


def network_guard(seen: dict[str, Any], *, required: bool = True) -> Guard:
    """Only a loop-back interface, and no way to a public address."""
    held = not seen["interfaces"] and seen["route"] != "reachable"
    return Guard("no network", held, f"interfaces {seen['interfaces'] or 'none'}, connect: {seen['route']}", required)


def root_guard(seen: dict[str, Any], *, required: bool = True) -> Guard:
    """No mounted file system can be written to, except the scratch ones."""
    writable = ", ".join(seen["writable"])
    return Guard("read-only root", not writable, f"writable: {writable or 'nothing but scratch'}", required)


def capability_guard(seen: dict[str, Any], *, required: bool = True) -> Guard:
    """No capability held, none to be had."""
    effective, bounding = seen["status"]["CapEff"], seen["status"]["CapBnd"]
    held = int(effective, 16) == 0 and int(bounding, 16) == 0
    return Guard("no capabilities", held, f"effective {effective}, bounding {bounding}", required)


def privilege_guard(seen: dict[str, Any], *, required: bool = True) -> Guard:
    """Setuid programs give nothing."""
    return Guard(
        "no new privileges",
        seen["status"]["NoNewPrivs"] == "1",
        f"NoNewPrivs {seen['status']['NoNewPrivs']}",
        required,
    )


def socket_guard(seen: dict[str, Any], *, required: bool = True) -> Guard:
    """The socket directory is there, holds the socket, and takes no other file."""
    files, writable = seen["socket_directory"]
    held = files == ["referee.sock"] and not writable
    return Guard("socket directory read-only", held, f"holds {files}, writable: {writable}", required)


def sight_guard(seen: dict[str, Any], *, required: bool = True) -> Guard:
    """The processes of the host are out of sight."""
    held = seen["processes"] <= 4
    return Guard("own process namespace", held, f"{seen['processes']} processes in sight", required)


def files_guard(trials: GuardTrials, *, required: bool = True) -> Guard:
    """The files of the host are out of sight: what this user keeps, and our own source."""
    with tempfile.NamedTemporaryFile(dir=state_directory("probe")) as kept:
        found = trials.answer("read", kept.name, __file__)
    return Guard("host files out of sight", not found["read"], f"read: {found['read'] or 'none of them'}", required)


def scratch_guard(trials: GuardTrials, *, required: bool = True) -> Guard:
    """A disk filler meets the end of its scratch space."""
    found = trials.answer("fill", str(8 * TRIAL.scratch_bytes))
    held = found["written"] <= TRIAL.scratch_bytes and found["error"] == "ENOSPC"
    return Guard(
        "scratch limit", held, f"{found['written'] >> 20} MiB written, then {found['error'] or 'stopped'}", required
    )


def memory_guard(trials: GuardTrials, *, required: bool = True) -> Guard:
    """A memory bomb dies and is reported as one."""
    ending = trials.ending("eat", str(4 * TRIAL.memory_bytes))
    held = ending.out_of_memory and ending.exit_code != 0
    seen = f"exit status {ending.exit_code}, out of memory: {ending.out_of_memory}"
    return Guard("memory limit", held, seen, required)


def log_guard(trials: GuardTrials, *, required: bool = True) -> Guard:
    """Of a flood of output only the end is kept."""
    ending = trials.ending("shout", str(8 * _MIB))
    size = len(ending.log.encode())
    held = 0 < size <= TRIAL.log_bytes and '"printed"' in ending.log[-100:]
    return Guard("log limit", held, f"{size} bytes kept of 8 MiB", required)
