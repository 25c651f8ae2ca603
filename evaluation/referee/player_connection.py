"""The port between referee and players: how a fresh connection is had and how one ended.

The referee cannot see sandboxes; the runner gives it a seat for each side.
"""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from dataclasses import dataclass

from evaluation.domain.results import Reason


@dataclass(frozen=True)
class PlayerExit:
    """What the host knows of how a player ended. `reason` is None where it did not end by itself."""

    reason: Reason | None = None
    detail: str = ""


class PlayerConnection(ABC):
    """One side of the table. A player that failed is sent away and a fresh one may be asked for.

    `open` and `dismiss` take turns. A second instance of the player, beside the first, gets a seat of its own.
    """

    @abstractmethod
    def open(self, seconds: float) -> tuple[socket.socket, float]:
        """Start a fresh player and wait for its connection, `seconds` from when its process was started.

        Our own work before that is not on the player's clock. Gives the connection and the deadline of the set-up
        (`time.monotonic()`), until which it may say HELLO; raises `ChannelError` or `Fault`.
        """

    @abstractmethod
    def dismiss(self, *, patience: float = 0.0) -> PlayerExit:
        """End the player, whatever it does, and say how it ended. Safe to call twice.

        Raises `Fault` where the player may have failed by this host's cause: then it must not be charged for it.
        `patience`: seconds to wait for it to end by itself, for one that has closed its connection already.
        """

    @abstractmethod
    def give_up(self) -> None:
        """The player is not needed any more: an `open` that waits in another thread ends soon. `dismiss` is still due.

        From then on its end is charged to nobody, so the host need not prove that it did its part.
        """

    @abstractmethod
    def another(self) -> PlayerConnection:
        """A further seat for the same player: what it starts is as fresh as what this one starts."""
