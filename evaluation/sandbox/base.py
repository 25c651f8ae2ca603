"""The port: how a player's code is started, watched and ended.

A sandbox starts a player with exactly one directory of ours in sight, the one with its socket. Nothing here knows
the protocol; the runner listens on the socket, the sandbox only makes it reachable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from evaluation.domain.players import Player

SOCKET_NAME = "referee.sock"
"""The file in the socket directory on which the referee listens."""

SOCKET_VARIABLE = "GAUNTLET_SOCKET"
"""The environment variable that tells a player the path of its socket."""


@dataclass(frozen=True)
class Resources:
    """What one player may use."""

    cpus: float = 1.0
    memory_bytes: int = 4 << 30
    processes: int = 256
    scratch_bytes: int = 512 << 20
    log_bytes: int = 1 << 20
    gpu: str | None = None
    """The device that a player with `gpu = true` gets, e.g. "0"; None where the host has none."""


@dataclass(frozen=True)
class Ending:
    """How a run ended.

    `exit_code` is None where the sandbox had to end it; `log` is the last `log_bytes` of its output.
    """

    exit_code: int | None
    out_of_memory: bool
    log: str
    trouble: str = ""
    """What of the host certainly failed in this run, for its operator; empty where nothing is known to have failed."""
    starved: str = ""
    """What shows that the host's memory ran out before the player met its limit; empty where nothing does."""
    certain: bool = True
    """Whether the sandbox knows that it set itself up and began the player; else only control players can tell."""


@dataclass(frozen=True)
class Guard:
    """One protection, as the self-test found it on this host: what was tried, what was seen, whether it held."""

    name: str
    held: bool
    seen: str
    required: bool = True


class Run(ABC):
    """One started player."""

    @abstractmethod
    def ended(self) -> bool:
        """Whether its main process is gone. Cheap; never blocks."""

    @abstractmethod
    def follow(self, on_output: Callable[[bytes], None]) -> None:
        """Pass everything it prints to `on_output`, from its start, as it appears and from a thread of ours.

        Called once at most; the last call has returned when `end` returns, or a few seconds after the run's end.
        `on_output` must be quick, since the player's output waits for it, and must not raise.
        """

    @abstractmethod
    def end(self) -> Ending:
        """Kill whatever still runs, clean up, and say how it ended. Safe to call twice."""


class Sandbox(ABC):
    """A way to run players."""

    name: ClassVar[str]
    for_untrusted_code: ClassVar[bool]

    @abstractmethod
    def start(self, player: Player, *, socket_directory: Path, resources: Resources) -> Run:
        """Start `player`; raises `Fault` where the host fails, `HostRefusal` where a required guard is missing."""

    @abstractmethod
    def sweep(self) -> int:
        """End what runners that died have left behind; how many leftovers there were."""

    @abstractmethod
    def prove(self, resources: Resources, *, gpu: bool = False, starts: int = 1) -> None:
        """Start a control player of ours `starts` times, each as a player with `resources` would be started.

        Raises `Fault` where one of them does not start or does not answer: then this host cannot play.
        """

    @abstractmethod
    def self_test(self) -> list[Guard]:
        """Prove each guard on this host by trying to break it."""
