"""A seat whose player runs in a sandbox."""

from __future__ import annotations

import shutil
import socket
import tempfile
import time
from pathlib import Path

from evaluation.domain.players import Player
from evaluation.domain.results import Reason
from evaluation.protocol.handshake import Listener
from evaluation.referee.seat import Departure, Seat
from evaluation.sandbox.base import SOCKET_NAME, Ending, Resources, Run, Sandbox


class SandboxSeat(Seat):
    """Starts `player` in `sandbox` with a socket directory of its own, as often as it is asked to."""

    def __init__(self, sandbox: Sandbox, player: Player, resources: Resources) -> None:
        self._sandbox = sandbox
        self._player = player
        self._resources = resources
        self._run: Run | None = None
        self._directory: Path | None = None
        self.logs: list[str] = []

    def open(self, deadline: float) -> socket.socket:
        self._directory = Path(tempfile.mkdtemp(prefix="gauntlet-"))
        self._directory.chmod(0o755)  # the player runs as another user
        listener = Listener(self._directory / SOCKET_NAME)
        try:
            self._run = self._sandbox.start(self._player, socket_directory=self._directory, resources=self._resources)
            return listener.accept(deadline, self._run.ended)
        finally:
            listener.close()

    def dismiss(self, *, patience: float = 0.0) -> Departure:
        departure = Departure()
        if self._run is not None:
            self._wait(self._run, patience)
            ending = self._run.end()
            self._run = None
            self.logs.append(ending.log)
            departure = _departure(ending)
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None
        return departure

    def _wait(self, run: Run, patience: float) -> None:
        deadline = time.monotonic() + patience
        while not run.ended() and time.monotonic() < deadline:
            time.sleep(0.01)


def _departure(ending: Ending) -> Departure:
    if ending.out_of_memory:
        return Departure(Reason.OUT_OF_MEMORY)
    if ending.exit_code:
        last = ending.log.strip().rsplit("\n", 1)[-1][:200]
        return Departure(Reason.CRASHED, f"exit status {ending.exit_code}" + (f": {last}" if last else ""))
    return Departure()
