"""What an engine that starts workers offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from core.errors import Fault


class EngineError(Fault):
    """The engine does not answer, or refuses."""


@dataclass(frozen=True)
class WorkerJob:
    """A job that is a worker, or will be one once the engine has a place for it."""

    number: str
    running: bool
    reason: str = ""
    """Why it waits, in the engine's words; empty if the engine says nothing."""
    without: frozenset[str] = frozenset()
    """The hosts that it may not run on, where the engine tells."""


class WorkerLauncher(Protocol):
    """Starts and ends jobs that are workers. Each call may raise `EngineError`."""

    def hosts(self) -> set[str]:
        """Return the names of its hosts."""

    def start(self, *, without: Sequence[str]) -> str:
        """Ask for one more job on any host but those named, which are some of its own; return its number."""

    def jobs(self) -> list[WorkerJob]:
        """Return the jobs that wait or run."""

    def cancel(self, numbers: Sequence[str]) -> None:
        """Cancel jobs, whether they wait or run."""
