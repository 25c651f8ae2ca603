"""A seat whose player runs in a sandbox."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from evaluation.domain.errors import Fault, HostFault
from evaluation.domain.players import Player
from evaluation.domain.results import Reason
from evaluation.protocol.handshake import Listener
from evaluation.referee.player_connection import PlayerConnection, PlayerExit
from evaluation.runner.line_splitter import LineSplitter
from evaluation.sandbox.base import SOCKET_NAME, Ending, Resources, Run, Sandbox

UNCERTAIN_STARTS = 3
"""How many control players must answer where the sandbox itself cannot tell whether it began the player."""


class SandboxedPlayer(PlayerConnection):
    """Starts `player` in `sandbox` with a socket directory of its own, as often as it is asked to."""

    def __init__(
        self, sandbox: Sandbox, player: Player, resources: Resources, on_log: Callable[[str], None] | None = None
    ) -> None:
        """`on_log` gets each line that the player prints, as it appears and from other threads; it must not raise."""
        self._sandbox = sandbox
        self._player = player
        self._resources = resources
        self._run: Run | None = None
        self._directory: Path | None = None
        self._connected = False
        self._on_log = on_log
        self._lines = LineSplitter(on_log) if on_log else None
        self._given_up = threading.Event()
        self.logs: list[str] = []

    def open(self, seconds: float) -> tuple[socket.socket, float]:
        try:
            self._directory = Path(tempfile.mkdtemp(prefix="gauntlet-"))
            self._directory.chmod(0o755)  # the player runs as another user
            listener = Listener(self._directory / SOCKET_NAME)
        except OSError as failure:
            raise Fault(f"this host cannot make a socket for {self._player.name}: {failure}") from failure
        self._connected = False
        try:
            self._run = self._sandbox.start(self._player, socket_directory=self._directory, resources=self._resources)
            deadline = time.monotonic() + seconds
            if self._lines is not None:
                self._run.follow(self._lines.feed)
            run = self._run
            connection = listener.accept(deadline, lambda: run.ended() or self._given_up.is_set())
            self._connected = True
            return connection, deadline
        finally:
            listener.close()

    def dismiss(self, *, patience: float = 0.0) -> PlayerExit:
        run, self._run = self._run, None
        try:
            if run is None:
                return PlayerExit()
            self._wait(run, patience)
            ending = run.end()
            self.logs.append(ending.log)
            if self._lines is not None:
                self._lines.close()
            departure = _player_exit(ending)
            failed = departure.reason is not None or not self._connected
            if failed and not self._given_up.is_set():
                self._vouch(ending)
            return departure
        finally:
            if self._directory is not None:
                shutil.rmtree(self._directory, ignore_errors=True)
                self._directory = None

    def give_up(self) -> None:
        self._given_up.set()

    def another(self) -> SandboxedPlayer:
        connection = SandboxedPlayer(self._sandbox, self._player, self._resources, self._on_log)
        connection.logs = self.logs
        return connection

    def _vouch(self, ending: Ending) -> None:
        """Raise `Fault` unless this host did its part in a run whose ending may be charged to the player."""
        if ending.trouble:
            raise HostFault(f"this host failed while it ran {self._player.name}: {ending.trouble}")
        if ending.starved:
            raise Fault(f"{self._player.name} was not given what it may use: {ending.starved}")
        starts = 1 if ending.certain else UNCERTAIN_STARTS
        self._sandbox.prove(self._resources, gpu=self._player.gpu, starts=starts)

    def _wait(self, run: Run, patience: float) -> None:
        deadline = time.monotonic() + patience
        while not run.ended() and time.monotonic() < deadline:
            time.sleep(0.01)


def _player_exit(ending: Ending) -> PlayerExit:
    if ending.out_of_memory:
        return PlayerExit(Reason.OUT_OF_MEMORY)
    if ending.exit_code:
        # nothing of what it printed: a result may be shown where its output must not (secret images)
        return PlayerExit(Reason.CRASHED, f"exit status {ending.exit_code}")
    return PlayerExit()
