"""Port of the sandboxes, which start, watch and end the code of players.

A sandbox starts a program that sees of the site the directory with its socket, and the folders that it is given.
Sandboxes know neither the protocol nor the files: the runner listens on the socket or reads the folders.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.domain.players import Program
from evaluation.domain.processor_use import ProcessorUse

SOCKET_NAME = "referee.sock"
"""The file in the socket directory on which the referee listens."""

SOCKET_VARIABLE = "GAUNTLET_SOCKET"
"""The environment variable with the path of the player's socket."""


@dataclass(frozen=True)
class Resources:
    """The resource limits of one player."""

    cpus: float = 1.0
    memory_bytes: int = 4 << 30
    processes: int = 256
    scratch_bytes: int = 512 << 20
    log_bytes: int = 1 << 20
    gpu: str | None = None
    """The device of a player with `gpu = true`, e.g. "0"; None if the host has none."""


@dataclass(frozen=True)
class Folder:
    """A directory of the host that a program sees at `place`, an absolute path.

    A writable one has no limit of its own: the runner watches its size. The program starts in the
    `working` one; then the directory in which it was built is not shown.
    """

    source: Path
    place: str
    writable: bool = False
    working: bool = False


@dataclass(frozen=True)
class SpaceUse:
    """What the processes of a run hold, or have held at most where the host remembers it. None: it cannot tell."""

    memory_bytes: int | None = None
    processes: int | None = None
    """Processes and threads."""
    scratch_bytes: int | None = None
    """Files in its private /tmp."""

    def __or__(self, other: SpaceUse) -> SpaceUse:
        """Return the larger of each figure."""
        return SpaceUse(
            _larger(self.memory_bytes, other.memory_bytes),
            _larger(self.processes, other.processes),
            _larger(self.scratch_bytes, other.scratch_bytes),
        )


def _larger(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)


@dataclass(frozen=True)
class Ending:
    """The end of a run.

    `exit_code` is None if the sandbox ended it; `log` is the last `log_bytes` of its output.
    """

    exit_code: int | None
    out_of_memory: bool
    log: str
    host_failure: str = ""
    """A certain failure of the host in this run, for its operator; empty if none is known."""
    memory_shortage: str = ""
    """The evidence that the host ran out of memory before the player reached its limit; empty if there is none."""
    start_confirmed: bool = True
    """True if the sandbox knows that it started the player; otherwise only control players can show it."""


@dataclass(frozen=True)
class Guard:
    """One protection and the result of its self-test on this host: what was seen, and whether the protection held."""

    name: str
    held: bool
    seen: str
    required: bool = True


class PlayerRun(ABC):
    """One started player."""

    @abstractmethod
    def ended(self) -> bool:
        """Return True if its main process is gone. Cheap; never blocks."""

    @abstractmethod
    def processor_use(self) -> ProcessorUse | None:
        """Return what all its processes have used so far; None if the host cannot tell what they computed."""

    @abstractmethod
    def space_use(self) -> SpaceUse:
        """Return what its running processes use; empty once it has ended."""

    @abstractmethod
    def deleted_bytes(self, device: int) -> int:
        """Return the bytes on the file system `device` of deleted files that its processes still hold.

        A lower bound: 0 where the host cannot tell.
        """

    @abstractmethod
    def follow(self, on_output: Callable[[bytes], None]) -> None:
        """Pass all of its output to `on_output` from the start, as it appears, on a separate thread.

        Call it at most once. The last call of `on_output` returns before `end` returns, or seconds after the run's end.
        `on_output` must be fast, since the player's output waits for it, and must not raise.
        """

    @abstractmethod
    def end(self) -> Ending:
        """Kill what still runs, clean up, and return how the run ended. Safe to call twice."""


class Sandbox(ABC):
    """A way to run players."""

    name: str
    for_untrusted_code: bool
    base_image: str | None = None
    """The image of the site itself, which holds nothing of a player; None if programs run without images."""

    @abstractmethod
    def start(
        self, program: Program, *, socket_directory: Path, resources: Resources, folders: Sequence[Folder] = ()
    ) -> PlayerRun:
        """Start `program`, which sees `folders`.

        Raise `Fault` if the host fails, `HostRefusal` if a required guard is missing.
        """

    @abstractmethod
    def place(self, folder: Folder) -> str:
        """Return the path of `folder` for the program: its place, or its source where the sandbox moves nothing."""

    @abstractmethod
    def level_caches(self, program: Program) -> None:
        """Make the caches of all files that `program` shares with other programs say nothing of what was read.

        No instance of it may run. Raise `Fault` if one does, or if this host cannot do it.
        """

    @abstractmethod
    def sweep(self) -> int:
        """End and remove the leftovers of dead runners. Return their number."""

    @abstractmethod
    def prove(self, resources: Resources, *, gpu: bool = False, starts: int = 1) -> None:
        """Start a control player `starts` times, each like a player with `resources`.

        Raise `Fault` if one of them does not start or does not answer: then this host cannot run matches.
        """

    @abstractmethod
    def self_test(self) -> list[Guard]:
        """Prove each guard on this host by an attempt to break it."""
