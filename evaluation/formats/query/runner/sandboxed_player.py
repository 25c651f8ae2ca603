"""Connection to a player that runs in a sandbox."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from evaluation.domain.errors import Fault
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import QueryPlayer
from evaluation.domain.processor_use import ProcessorUse
from evaluation.formats.query.referee.player_interface import PlayerConnection, PlayerExit
from evaluation.formats.query.runner.audit_exclusion_lock import InstanceLock
from evaluation.formats.query.runner.line_splitter import LineSplitter
from evaluation.protocol.listener import Listener
from evaluation.sandbox.base import SOCKET_NAME, Ending, Folder, PlayerRun, Resources, Sandbox
from evaluation.sandbox.directory_removal import remove_trees
from evaluation.sandbox.host_fault_check import require_working_host
from evaluation.sandbox.peak_use import MostUsed
from evaluation.sandbox.private_copies import copy_files, remove_copy


class SandboxedPlayer(PlayerConnection):
    """Starts `player` in `sandbox` at each opening, with a separate socket directory."""

    def __init__(
        self,
        sandbox: Sandbox,
        player: QueryPlayer,
        resources: Resources,
        on_log: Callable[[str], None] | None = None,
        *,
        alone: bool = False,
        used: MostUsed | None = None,
    ) -> None:
        """Pass each line of the player's output to `on_log`, from other threads; it must not raise.

        `alone`: the caller holds the player's lock on this host, and each instance gets a copy of its directory, whose
        files no other instance has seen. `used` collects what its instances use.
        """
        self._sandbox = sandbox
        self._player = player
        self._resources = resources
        self._run: PlayerRun | None = None
        self._directory: Path | None = None
        self._copy: Path | None = None
        self._connected = False
        self._on_log = on_log
        self._alone = alone
        self._used = used
        self._lock: InstanceLock | None = None
        self._lines = LineSplitter(on_log) if on_log else None
        self._given_up = threading.Event()
        self.logs: list[str] = []

    def open(self, seconds: float) -> tuple[socket.socket, float]:
        try:
            self._directory = Path(tempfile.mkdtemp(prefix="gauntlet-"))
            self._directory.chmod(0o755)  # the player runs as another user
            listener = Listener(self._directory / SOCKET_NAME)
        except OSError as failure:
            raise Fault(f"this host cannot create a socket for {self._player.name}: {failure}") from failure
        self._connected = False
        try:
            if not self._alone:
                self._lock = InstanceLock(self._player)
            self._run = self._sandbox.start(
                self._player,
                socket_directory=self._directory,
                resources=self._resources,
                folders=self._own_files() if self._alone else (),
            )
            began = time.monotonic()
            deadline = began + seconds
            if self._lines is not None:
                self._run.follow(self._lines.feed)
            run = self._run
            connection = listener.accept(deadline, lambda: run.ended() or self._given_up.is_set())
            self._connected = True
            if self._used is not None:
                self._used.connected(run, time.monotonic() - began)
            return connection, deadline
        finally:
            listener.close()

    def dismiss(self, *, patience: float = 0.0) -> PlayerExit:
        run, self._run = self._run, None
        try:
            if run is None:
                return PlayerExit()
            if self._used is not None:
                self._used.look(run)
            self._wait(run, patience)
            ending = run.end()
            self.logs.append(ending.log)
            if self._lines is not None:
                self._lines.close()
            player_exit = _player_exit(ending)
            failed = player_exit.reason is not None or not self._connected
            if failed and not self._given_up.is_set():
                require_working_host(self._sandbox, self._player, self._resources, ending)
            return player_exit
        finally:
            lock, self._lock = self._lock, None
            if lock is not None:
                lock.release()
            if self._directory is not None:
                remove_trees([self._directory])
            if self._copy is not None:
                remove_copy(self._copy)
            self._directory = self._copy = None

    def give_up(self) -> None:
        self._given_up.set()

    def processor_use(self) -> ProcessorUse | None:
        run = self._run
        return None if run is None or self._player.gpu else run.processor_use()

    def another(self) -> SandboxedPlayer:
        connection = SandboxedPlayer(
            self._sandbox, self._player, self._resources, self._on_log, alone=self._alone, used=self._used
        )
        connection.logs = self.logs
        return connection

    def _own_files(self) -> Sequence[Folder]:
        """Return a fresh copy of the player's directory at the same place; nothing for an image."""
        directory = self._player.directory
        if directory is None:
            return ()
        try:
            self._copy = copy_files(directory)
        except (OSError, shutil.Error) as failure:
            raise Fault(f"this host cannot copy {self._player.name}: {failure}") from failure
        return (Folder(self._copy, str(directory.resolve()), working=True),)

    def _wait(self, run: PlayerRun, patience: float) -> None:
        deadline = time.monotonic() + patience
        while not run.ended() and time.monotonic() < deadline:
            time.sleep(0.01)


def _player_exit(ending: Ending) -> PlayerExit:
    if ending.out_of_memory:
        return PlayerExit(Reason.OUT_OF_MEMORY)
    if ending.exit_code:
        # without its output: a result may be public where the output is not (secret images)
        return PlayerExit(Reason.CRASHED, f"exit status {ending.exit_code}")
    return PlayerExit()
