"""The interface through which the referee starts and ends players.

The referee does not know sandboxes; the runner gives it one connection for each side.
"""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from dataclasses import dataclass

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.processor_use import ProcessorUse


@dataclass(frozen=True)
class PlayerExit:
    """What the host knows about the end of a player. `reason` is None where it did not end by itself."""

    reason: Reason | None = None
    detail: str = ""


class PlayerConnection(ABC):
    """One side of a match. A failed player can be ended, and a fresh one started.

    Calls of `open` and `dismiss` alternate. A second instance of the player has a connection of its own (`another`).
    """

    @abstractmethod
    def open(self, seconds: float) -> tuple[socket.socket, float]:
        """Start a fresh player and wait for its connection, up to `seconds` from the start of its process.

        The host's work before that is not counted. Return the connection and the deadline of the set-up
        (`time.monotonic()`), until which it may say HELLO; raise `ChannelError` or `Fault`.
        """

    @abstractmethod
    def dismiss(self, *, patience: float = 0.0) -> PlayerExit:
        """End the player, whatever it does, and return how it ended. Safe to call twice.

        `patience`: seconds to wait for a player that has already closed its connection to end by itself. Raise `Fault`
        where this host may have caused the failure: it must not be charged to the player.
        """

    @abstractmethod
    def give_up(self) -> None:
        """Mark the player as not needed: an `open` that waits in another thread ends soon. `dismiss` must follow.

        From then on its end is not charged, so the host does not need to be checked.
        """

    @abstractmethod
    def processor_use(self) -> ProcessorUse | None:
        """Return what all processes of the running player have used so far; the calling thread awaits its answers.

        It is None where the host cannot tell, or where processor time does not measure the player's work: on a GPU.
        """

    @abstractmethod
    def another(self) -> PlayerConnection:
        """Return another connection for the same player, which starts instances that are just as fresh."""
