"""A sandbox whose runs another thread ends at once, because nobody needs their result any more."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from evaluation.domain.errors import StoppedError
from evaluation.domain.players import Program
from evaluation.domain.processor_use import ProcessorUse
from evaluation.sandbox.base import Ending, Folder, Guard, PlayerRun, Resources, Sandbox, SpaceUse

log = logging.getLogger(__name__)


class StoppableSandbox(Sandbox):
    """Starts players in another sandbox until `stop`.

    From then on each start, proof and end of a run raises `StoppedError`: no result follows from players that were
    stopped.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.name, self.for_untrusted_code = sandbox.name, sandbox.for_untrusted_code
        self.base_image = sandbox.base_image
        self._sandbox = sandbox
        self._lock = threading.Lock()
        self._runs: set[_StoppableRun] = set()
        self._stopped = False

    def stop(self) -> None:
        """End what runs, from any thread. Safe to call twice.

        A run that cannot be ended is logged: the thread that started it ends it, too, and raises its `Fault`.
        """
        with self._lock:
            self._stopped = True
            running = list(self._runs)
        for run in running:
            try:
                run.finish()
            except Exception:
                log.warning("a player that is stopped could not be ended", exc_info=True)

    def start(
        self, program: Program, *, socket_directory: Path, resources: Resources, folders: Sequence[Folder] = ()
    ) -> PlayerRun:
        self.require_running()
        started = self._sandbox.start(program, socket_directory=socket_directory, resources=resources, folders=folders)
        run = _StoppableRun(started, self)
        with self._lock:
            self._runs.add(run)
            stopped = self._stopped
        if stopped:  # meanwhile
            run.end()
        return run

    def place(self, folder: Folder) -> str:
        return self._sandbox.place(folder)

    def level_caches(self, program: Program) -> None:
        self.require_running()
        self._sandbox.level_caches(program)

    def sweep(self) -> int:
        return self._sandbox.sweep()

    def prove(self, resources: Resources, *, gpu: bool = False, starts: int = 1) -> None:
        self.require_running()
        self._sandbox.prove(resources, gpu=gpu, starts=starts)

    def self_test(self) -> list[Guard]:
        return self._sandbox.self_test()

    def require_running(self) -> None:
        """Raise `StoppedError` once it is stopped."""
        if self._stopped:
            raise StoppedError

    def forget(self, run: _StoppableRun) -> None:
        """Drop a run that has ended."""
        with self._lock:
            self._runs.discard(run)


class _StoppableRun(PlayerRun):
    """A run that two threads may end."""

    def __init__(self, run: PlayerRun, sandbox: StoppableSandbox) -> None:
        self._run = run
        self._sandbox = sandbox
        self._ending = threading.Lock()

    def ended(self) -> bool:
        return self._run.ended()

    def processor_use(self) -> ProcessorUse | None:
        return self._run.processor_use()

    def space_use(self) -> SpaceUse:
        return self._run.space_use()

    def deleted_bytes(self, device: int) -> int:
        return self._run.deleted_bytes(device)

    def follow(self, on_output: Callable[[bytes], None]) -> None:
        self._run.follow(on_output)

    def end(self) -> Ending:
        ending = self.finish()
        self._sandbox.require_running()
        return ending

    def finish(self) -> Ending:
        """End the run, for its own thread or for another one."""
        with self._ending:
            ending = self._run.end()
        self._sandbox.forget(self)
        return ending
