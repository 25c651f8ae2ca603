"""The socket on which a player connects."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path

from evaluation.domain.failure_reasons import Reason
from evaluation.protocol.channel import ChannelError


class Listener:
    """A socket file that accepts exactly one connection: after the first, the file is removed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(path))
        path.chmod(0o666)  # the player runs as another user; only its own directory gives access
        self._socket.listen(1)

    def accept(self, deadline: float, given_up: Callable[[], bool]) -> socket.socket:
        """Return the player's connection, before `deadline` and while not `given_up()`. Raise `ChannelError`."""
        self._socket.settimeout(0.05)
        while True:
            try:
                connected, _ = self._socket.accept()
            except TimeoutError:
                if given_up():
                    raise ChannelError(Reason.EXITED_IN_SETUP) from None
                if time.monotonic() > deadline:
                    raise ChannelError(Reason.NEVER_CONNECTED) from None
                continue
            self.close()
            return connected

    def close(self) -> None:
        """Stop listening. Safe to call twice."""
        self._socket.close()
        self._path.unlink(missing_ok=True)
