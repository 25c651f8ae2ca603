"""Processes of this host, identified by number and start time, so that a reused number is not confused."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_ROUNDS = 500  # a process inside the kernel may not die immediately
_PAUSE = 0.005


@dataclass(frozen=True)
class HostProcess:
    """A process by its number and start time (clock ticks since boot; 0 on a system without /proc)."""

    pid: int
    started: int

    @classmethod
    def current(cls) -> HostProcess:
        """Return this process."""
        pid = os.getpid()
        return cls(pid, _start_time(pid) or 0)

    def alive(self) -> bool:
        """Return True if exactly this process still runs; a zombie does not."""
        if _PROC.joinpath("self").exists():
            return _start_time(self.pid) == self.started
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


def runner_label() -> str:
    """Return this process as `host:pid:start time`, for resources that outlive it."""
    current = HostProcess.current()
    return f"{host_name()}:{current.pid}:{current.started}"


def runner_is_dead(label: str) -> bool:
    """Return True if the process that `runner_label` named is of this host and gone.

    It is False for a label of another host.
    """
    try:
        host, pid, started = label.rsplit(":", 2)
        named = HostProcess(int(pid), int(started))
    except ValueError:
        return False
    return host == host_name() and not named.alive()


def host_name() -> str:
    """Return the name of this host in labels; each namespace of process numbers needs its own name."""
    return os.environ.get("GAUNTLET_HOST") or socket.gethostname()


def kill_marked(mark: str) -> None:
    """Kill every process that has `mark` ("NAME=value") in its environment, and the children they start meanwhile.

    Unlike a process group, this finds children that started their own session.
    """
    for _ in range(_ROUNDS):
        marked = _marked(mark)
        if not marked:
            return
        for pid in marked:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE)


def _marked(mark: str) -> list[int]:
    needle = mark.encode()
    found = []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            variables = (entry / "environ").read_bytes()
        except OSError:  # gone meanwhile, or of another user
            continue
        if needle in variables and needle in variables.split(b"\0") and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def _start_time(pid: int) -> int | None:
    """Return the 22nd field of /proc/PID/stat (proc(5)); None if there is no such process, or only its zombie."""
    try:
        # the second field, the name, is in brackets and may contain spaces and brackets
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])
