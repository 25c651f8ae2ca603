"""A seat whose player is a function of ours, in a thread on a socket pair. No sandbox: never for anyone else's code."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from evaluation.referee.player_connection import PlayerConnection, PlayerExit

_LAST_WORDS = 1.0
"""Seconds for a woken thread to end, so that it does not write into what comes after it; one that hangs is left."""


class InProcessPlayer(PlayerConnection):
    """`serve` gets a connected socket and speaks the protocol on it, usually through the SDK; anew at each opening."""

    def __init__(self, serve: Callable[[socket.socket], None], openings: list[float] | None = None) -> None:
        self._serve = serve
        self._openings = [] if openings is None else openings
        self._thread: threading.Thread | None = None
        self._theirs: socket.socket | None = None

    @property
    def opened(self) -> int:
        """How often a player was started here and at the further seats for it."""
        return len(self._openings)

    def open(self, seconds: float) -> tuple[socket.socket, float]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._openings.append(time.monotonic())
        self._theirs = theirs

        def body() -> None:
            # the referee learns of the end from the closed socket, as with any other player
            with suppress(SystemExit, OSError), theirs:
                self._serve(theirs)

        self._thread = threading.Thread(target=body, daemon=True)
        self._thread.start()
        return ours, time.monotonic() + seconds

    def dismiss(self, *, patience: float = 0.0) -> PlayerExit:
        if self._thread is not None and self._theirs is not None:
            self._thread.join(timeout=patience)
            with suppress(OSError):  # wakes a thread that still waits on it; closing alone would not
                self._theirs.shutdown(socket.SHUT_RDWR)
            self._thread.join(timeout=_LAST_WORDS)
            self._thread = None
        return PlayerExit()

    def give_up(self) -> None:
        """Nothing to do: `open` never waits."""

    def another(self) -> InProcessPlayer:
        return type(self)(self._serve, self._openings)
