"""Connection to a player that is a function of the site, in a thread on a socket pair. Only for trusted code."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from evaluation.domain.processor_use import ProcessorUse
from evaluation.formats.query.referee.player_interface import PlayerConnection, PlayerExit

_END_SECONDS = 1.0
"""Seconds for a woken thread to end, so that it does not write later; a thread that hangs is abandoned."""


class InProcessPlayer(PlayerConnection):
    """A player whose function `serve` gets a connected socket at each opening, and usually passes it to the SDK."""

    def __init__(self, serve: Callable[[socket.socket], None], openings: list[float] | None = None) -> None:
        self._serve = serve
        self._openings = [] if openings is None else openings
        self._thread: threading.Thread | None = None
        self._player_end: socket.socket | None = None

    @property
    def opened(self) -> int:
        """The number of starts of the player, here and on further connections."""
        return len(self._openings)

    def open(self, seconds: float) -> tuple[socket.socket, float]:
        referee_end, player_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._openings.append(time.monotonic())
        self._player_end = player_end

        def body() -> None:
            # as with other players, the closed socket tells the referee that the player ended
            with suppress(SystemExit, OSError), player_end:
                self._serve(player_end)

        self._thread = threading.Thread(target=body, daemon=True)
        self._thread.start()
        return referee_end, time.monotonic() + seconds

    def dismiss(self, *, patience: float = 0.0) -> PlayerExit:
        if self._thread is not None and self._player_end is not None:
            self._thread.join(timeout=patience)
            with suppress(OSError):  # wakes a thread that still waits on it; `close` would not
                self._player_end.shutdown(socket.SHUT_RDWR)
            self._thread.join(timeout=_END_SECONDS)
            self._thread = None
        return PlayerExit()

    def give_up(self) -> None:
        """Do nothing: `open` never waits."""

    def processor_use(self) -> ProcessorUse | None:
        return None  # its threads are those of the referee

    def another(self) -> InProcessPlayer:
        return type(self)(self._serve, self._openings)
