"""Locks of this host: a player is audited only while no instance of it lives here.

Every running instance holds a shared lock of its player, and an audit the exclusive one. The kernel drops a lock with
the process that holds it. Workers share locks if they share a state directory: one user and one home on each host.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

from evaluation.domain.errors import Fault
from evaluation.domain.players import Program
from evaluation.sandbox.state_directory import state_directory


class InstanceLock:
    """The shared lock of one running instance."""

    def __init__(self, program: Program) -> None:
        """Wait while `program` is audited on this host, then hold the lock."""
        self._descriptor = _open(program)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)
        except BaseException:
            os.close(self._descriptor)
            raise

    def release(self) -> None:
        """Give the lock back. Call it once."""
        os.close(self._descriptor)


@contextmanager
def no_instance_of(program: Program, *, wait: bool = True) -> Iterator[None]:
    """Hold the exclusive lock: no instance of `program` starts on this host inside the block.

    Wait until those that run have ended; with `wait` False, raise `Fault` instead.
    """
    descriptor = _open(program)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise Fault(f"an instance of {program.name} runs on this host; its audit must wait") from None
        yield
    finally:
        os.close(descriptor)


def _open(program: Program) -> int:
    name = hashlib.sha256(program.digest.encode()).hexdigest()[:32]
    try:
        return os.open(state_directory("player-locks") / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as failure:
        raise Fault(f"this host cannot lock {program.name}: {failure}") from failure
