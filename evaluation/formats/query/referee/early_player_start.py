"""Player instances that start while another one still plays, and that end while the next one plays."""

from __future__ import annotations

import socket
import threading
import time

from evaluation.domain.errors import Fault
from evaluation.formats.query.referee.player_interface import PlayerConnection
from evaluation.protocol.channel import ChannelError

HANDSHAKE_SECONDS = 10.0
"""Least number of seconds for the HELLO of an early instance that connected in time."""


class EarlyStart:
    """A thread that opens `connection`. `take` waits for the connection; `cancel` ends the unused instance."""

    def __init__(self, connection: PlayerConnection, seconds: float) -> None:
        self.connection = connection
        self._opened: tuple[socket.socket, float] | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._open, args=(seconds,), name="ahead start", daemon=True)
        self._thread.start()

    def take(self) -> tuple[socket.socket, float] | None:
        """Wait for the connection and return it with the deadline of its HELLO; None where the start failed.

        A failed early start is charged to neither player: the player is then started in the ordinary way.
        """
        self._thread.join()
        if self._opened is None:
            self.connection.give_up()
            self.connection.dismiss()
            if isinstance(self._failure, ChannelError | Fault):
                return None
            raise self._failure or RuntimeError("an instance that was started early neither connected nor failed")
        connected, deadline = self._opened
        return connected, max(deadline, time.monotonic() + HANDSHAKE_SECONDS)

    def cancel(self) -> None:
        """End the instance, whatever its state."""
        self.connection.give_up()
        self._thread.join()
        if self._opened is not None:
            self._opened[0].close()
        self.connection.dismiss()

    def _open(self, seconds: float) -> None:
        try:
            self._opened = self.connection.open(seconds)
        except BaseException as failure:
            self._failure = failure


class BackgroundEnd:
    """A thread that dismisses `connection`; `join` waits for it and raises its exception."""

    def __init__(self, connection: PlayerConnection) -> None:
        self._connection = connection
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._dismiss, name="background end", daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        """True if `join` would return immediately."""
        return not self._thread.is_alive()

    def join(self) -> None:
        """Wait until the instance has ended; raise `Fault` where the host could not end it."""
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _dismiss(self) -> None:
        try:
            self._connection.give_up()
            self._connection.dismiss()
        except BaseException as failure:
            self._failure = failure
