"""Instances of a player that start while another one still plays, and end while the next one does."""

from __future__ import annotations

import socket
import threading
import time

from evaluation.domain.errors import Fault
from evaluation.protocol.channel import ChannelError
from evaluation.referee.player_connection import PlayerConnection

HANDSHAKE_SECONDS = 10.0
"""What an instance that connected in time has at the least for its HELLO when it is needed."""


class EarlyStart:
    """Opens `connection` in a thread of its own. `take` waits for the connection; `cancel` ends the instance unused."""

    def __init__(self, connection: PlayerConnection, seconds: float) -> None:
        self.connection = connection
        self._opened: tuple[socket.socket, float] | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._open, args=(seconds,), name="ahead start", daemon=True)
        self._thread.start()

    @property
    def ready(self) -> bool:
        """Whether `take` would return at once."""
        return not self._thread.is_alive()

    def take(self) -> tuple[socket.socket, float] | None:
        """Wait for the connection, and give it with the deadline of its HELLO; None where the start failed.

        A start that failed is charged to nobody: the player is then started in the ordinary way, and fails there.
        """
        self._thread.join()
        if self._opened is None:
            self.connection.give_up()
            self.connection.dismiss()
            if isinstance(self._failure, ChannelError | Fault):
                return None
            raise self._failure or RuntimeError("an instance started ahead has neither connected nor failed")
        connected, deadline = self._opened
        return connected, max(deadline, time.monotonic() + HANDSHAKE_SECONDS)

    def cancel(self) -> None:
        """End the instance, in whatever state it is."""
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
    """Dismisses `connection` in a thread of its own; `join` waits for that, and raises what went wrong there."""

    def __init__(self, connection: PlayerConnection) -> None:
        self._seat = connection
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._dismiss, name="background end", daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        """Whether `join` would return at once."""
        return not self._thread.is_alive()

    def join(self) -> None:
        """Wait until the instance has ended; raises `Fault` where the host could not end it."""
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _dismiss(self) -> None:
        try:
            self._seat.give_up()
            self._seat.dismiss()
        except BaseException as failure:
            self._failure = failure
