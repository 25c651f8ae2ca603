"""Locks of this host: a player is audited only while no instance of it, and no other player of its team, lives here.

Every running instance holds shared locks of its player and of its team, and an audit the exclusive ones. The kernel
drops a lock with the process that holds it. Workers share locks if they share a state directory: one user and one home
on each host.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from evaluation.domain.errors import Fault
from evaluation.domain.players import Program
from evaluation.sandbox.state_directory import state_directory

_PAUSE_SECONDS = 0.05


class InstanceLock:
    """The shared locks of one running instance."""

    def __init__(self, program: Program) -> None:
        """Wait while `program` or another of its team is audited on this host, then hold the locks."""
        self._descriptors = _locked(program, fcntl.LOCK_SH, wait=True)

    def release(self) -> None:
        """Give the locks back. Call it once."""
        _close(self._descriptors)


@contextmanager
def no_instance_of(program: Program, *, wait: bool = True) -> Iterator[None]:
    """Hold the exclusive locks: inside the block no instance of `program` or of its team starts on this host.

    Wait until those that run have ended; with `wait` False, raise `Fault` instead.
    """
    descriptors = _locked(program, fcntl.LOCK_EX, wait=wait)
    try:
        yield
    finally:
        _close(descriptors)


def _locked(program: Program, kind: int, *, wait: bool) -> list[int]:
    """Return the descriptors of the locks. It waits for none while it holds another, which could last forever."""
    names = [program.digest, *([f"team {program.team}"] if program.team else [])]
    while True:
        held: list[int] = []
        try:
            for name in names:
                held.append(_open(program, name))
                fcntl.flock(held[-1], kind | fcntl.LOCK_NB)
        except BlockingIOError:
            _close(held)
            if not wait:
                problem = f"an instance of {program.name}, or another player of its team, runs on this host"
                raise Fault(f"{problem}; its audit must wait") from None
            time.sleep(_PAUSE_SECONDS)
        except BaseException:
            _close(held)
            raise
        else:
            return held


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _open(program: Program, name: str) -> int:
    place = hashlib.sha256(name.encode()).hexdigest()[:32]
    try:
        return os.open(state_directory("player-locks") / place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as failure:
        raise Fault(f"this host cannot lock {program.name}: {failure}") from failure
