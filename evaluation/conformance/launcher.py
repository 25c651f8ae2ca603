"""Start a player's command as a plain process of this host, without any sandbox, and hold its connection."""

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

from evaluation.conformance.steps import UnmetError
from evaluation.domain.players import Track
from evaluation.domain.results import Reason
from evaluation.domain.rules import QueryRules
from evaluation.protocol.channel import Channel, ChannelError
from evaluation.protocol.handshake import HELLO_DUE, Listener
from evaluation.sandbox.base import SOCKET_NAME, SOCKET_VARIABLE
from gauntlet import frames

ENDING_SECONDS = 5.0
"""Seconds that a player has to end by itself when its match is over."""

QUIET_SECONDS = 0.2
"""Seconds for which a player that was asked nothing is watched for bytes."""


class CommandError(Exception):
    """The command cannot be started at all."""


class LaunchedPlayer:
    """One process and its connection. Use it in a `with`: whatever happens, the process group and files go."""

    def __init__(self, command: Sequence[str], rules: QueryRules, seconds: float) -> None:
        """Start `command`; raises `CommandError`. `seconds` are for its set-up."""
        self._rules = rules
        self._deadline = time.monotonic() + seconds
        self._directory = Path(tempfile.mkdtemp(prefix="gauntlet-"))
        self._socket: socket.socket | None = None
        self._channel: Channel | None = None
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
        """Wait for the connection, read HELLO: the role it names, after magic and version were found right.

        Raises `ChannelError`.
        """
        self._socket = self._listener.accept(self._deadline, lambda: self._process.poll() is not None)
        self._channel = Channel(self._socket, max_payload=frames.MAX_COUNT * (self._rules.shape.size + 2))
        hello = self._channel.receive(HELLO_DUE, self._deadline)
        magic, version, role = frames.HELLO_PAYLOAD.unpack(hello.payload)
        if (magic, version) != (frames.MAGIC, frames.VERSION):
            raise ChannelError(Reason.BAD_HELLO, f"magic {bytes(magic)!r}, version {version}")
        if role not in (frames.ROLE_MODEL, frames.ROLE_ATTACK):
            raise ChannelError(Reason.BAD_HELLO, f"role {role}; a model is 1, an attack 2")
        return int(role)

    def welcome(self, role: int, track: Track, budget: int) -> None:
        """Answer HELLO. `budget` is 0 for a model."""
        rules = self._rules
        flags = frames.FLAG_TARGETED if track is Track.TARGETED else 0
        payload = frames.WELCOME_PAYLOAD.pack(
            frames.VERSION, role, *rules.shape, rules.classes, frames.MAX_COUNT, flags, budget
        )
        self.connection.send(frames.WELCOME, 0, 0, payload, deadline=self._deadline)

    @property
    def connection(self) -> Channel:
        """The open channel; raises `ChannelError` before `greet`."""
        if self._channel is None:
            raise ChannelError(Reason.NEVER_CONNECTED)
        return self._channel

    def expect_silence(self) -> str:
        """Watch for bytes while no frame is due; raises `ChannelError` when some come or the player hangs up."""
        if self._socket is not None and select.select([self._socket], [], [], QUIET_SECONDS)[0]:
            try:
                ahead = self._socket.recv(64, socket.MSG_PEEK)
            except OSError:
                ahead = b""
            reason = Reason.UNEXPECTED_BYTES if ahead else Reason.DISCONNECTED
            raise ChannelError(reason, f"it begins with {ahead.hex(' ')}" if ahead else "")
        return "silent while nothing is asked of it"

    def end_by_bye(self) -> str:
        """Send BYE and see the process end by itself; raises `UnmetError`."""
        self.connection.bye()
        return self._see_end("BYE")

    def end_by_hanging_up(self) -> str:
        """Close the connection without a word and see the process end by itself; raises `UnmetError`."""
        self.connection.close()
        return self._see_end("the connection was closed")

    def _see_end(self, cause: str) -> str:
        try:
            status = self._process.wait(timeout=ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            raise UnmetError(f"still running {ENDING_SECONDS:g} s after {cause}") from None
        return f"ended with exit status {status}"

    def explain(self) -> str:
        """What is known of a process that ended: its exit status and the last line that it printed."""
        with suppress(subprocess.TimeoutExpired):
            status = self._process.wait(timeout=1.0)
            self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - 2048))
            lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
            return f"its process ended with exit status {status}" + (f": {lines[-1][:200]}" if lines else "")
        return ""
