"""Launcher of a player's command as a plain process of this host, without a sandbox."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import TrackName
from evaluation.formats.query.conformance.steps import UnmetError
from evaluation.formats.query.referee.handshake import HELLO_DUE
from evaluation.formats.query.rules import QueryRules
from evaluation.protocol.channel import Channel, ChannelError
from evaluation.protocol.listener import Listener
from evaluation.sandbox.base import SOCKET_NAME, SOCKET_VARIABLE
from gauntlet import frames

ENDING_SECONDS = 5.0
"""Seconds for a player to end by itself after its match."""

QUIET_SECONDS = 0.2
"""Seconds without a query in which a player must send no bytes."""


class CommandError(Exception):
    """The command cannot be started."""


class LaunchedPlayer:
    """Context manager for one process and its connection; it always removes the process group and the files."""

    def __init__(self, command: Sequence[str], rules: QueryRules, seconds: float) -> None:
        """Start `command`; raise `CommandError`. `seconds` is the time limit of its set-up."""
        self._rules = rules
        self._deadline = time.monotonic() + seconds
        self._directory = Path(tempfile.mkdtemp(prefix="gauntlet-"))
        self._socket: socket.socket | None = None
        self._channel: Channel | None = None
        self.offers = 0
        """What a model offers besides labels, as its HELLO says."""
        self._listener = Listener(self._directory / SOCKET_NAME)
        self._log: IO[bytes] = (self._directory / "log").open("w+b")
        try:
            self._process = subprocess.Popen(
                list(command),
                env={**os.environ, SOCKET_VARIABLE: str(self._directory / SOCKET_NAME)},
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError, IndexError) as error:
            self._remove_files()
            raise CommandError(f"the command cannot be started: {error}") from error

    def __enter__(self) -> LaunchedPlayer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=ENDING_SECONDS)
        if self._socket is not None:
            self._socket.close()
        self._remove_files()

    def _remove_files(self) -> None:
        self._listener.close()
        self._log.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def greet(self) -> int:
        """Wait for the connection, read HELLO, check magic and version, and return the role.

        Raise `ChannelError`.
        """
        self._socket = self._listener.accept(self._deadline, lambda: self._process.poll() is not None)
        shape, classes = self._rules.shape, self._rules.classes
        self._channel = Channel(self._socket, max_payload=frames.MAX_COUNT * 4 * max(shape.size, classes))
        hello = self._channel.receive(HELLO_DUE, self._deadline)
        magic, version, role = frames.HELLO_PAYLOAD.unpack(hello.payload)
        if (magic, version) != (frames.MAGIC, frames.VERSION):
            raise ChannelError(Reason.BAD_HELLO, f"magic {bytes(magic)!r}, version {version}")
        if role not in (frames.ROLE_MODEL, frames.ROLE_ATTACK):
            raise ChannelError(Reason.BAD_HELLO, f"role {role}; use 1 for a model, 2 for an attack")
        self.offers = hello.sequence
        return int(role)

    def welcome(self, role: int, track: TrackName, budget: int) -> None:
        """Answer HELLO. `budget` is 0 for a model."""
        rules = self._rules
        flags = frames.FLAG_TARGETED if track is TrackName.TARGETED else 0
        payload = frames.WELCOME_PAYLOAD.pack(
            frames.VERSION, role, *rules.shape, rules.classes, frames.MAX_COUNT, flags, budget
        )
        self.connection.send(frames.WELCOME, 0, 0, payload, deadline=self._deadline)

    @property
    def connection(self) -> Channel:
        """The open channel. Raises `ChannelError` before `greet`."""
        if self._channel is None:
            raise ChannelError(Reason.NEVER_CONNECTED)
        return self._channel

    def expect_silence(self) -> str:
        """Check that the player sends nothing while no frame is due. Raise `ChannelError` otherwise."""
        if self._socket is not None and select.select([self._socket], [], [], QUIET_SECONDS)[0]:
            try:
                ahead = self._socket.recv(64, socket.MSG_PEEK)
            except OSError:
                ahead = b""
            reason = Reason.UNEXPECTED_BYTES if ahead else Reason.DISCONNECTED
            raise ChannelError(reason, f"the first bytes: {ahead.hex(' ')}" if ahead else "")
        return "silent without a query"

    def end_by_bye(self) -> str:
        """Send BYE and check that the process ends by itself. Raise `UnmetError`."""
        self.connection.bye()
        return self._check_end("BYE")

    def end_by_closing(self) -> str:
        """Close the connection without BYE and check that the process ends by itself. Raise `UnmetError`."""
        self.connection.close()
        return self._check_end("the connection was closed")

    def _check_end(self, cause: str) -> str:
        try:
            status = self._process.wait(timeout=ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            raise UnmetError(f"still running {ENDING_SECONDS:g} s after {cause}") from None
        return f"ended with exit status {status}"

    def explain(self) -> str:
        """Return the exit status of an ended process and the last line of its output."""
        with suppress(subprocess.TimeoutExpired):
            status = self._process.wait(timeout=1.0)
            self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - 2048))
            lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
            return f"its process ended with exit status {status}" + (f": {lines[-1][:200]}" if lines else "")
        return ""
