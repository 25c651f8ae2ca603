"""The first exchange on every connection, and the socket on which the referee waits for it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path

from evaluation.domain.players import Side, Track
from evaluation.domain.results import Reason
from evaluation.domain.rules import QueryRules
from evaluation.protocol import frames
from evaluation.protocol.channel import Channel, ChannelError, Layout

HELLO_DUE = {frames.HELLO: Layout(0, 0, frames.HELLO_PAYLOAD.size, 0)}

_ROLES = {Side.MODEL: frames.ROLE_MODEL, Side.ATTACK: frames.ROLE_ATTACK}


class Listener:
    """A socket file that accepts exactly one connection: after the first, the file is removed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(path))
        path.chmod(0o666)  # the player runs as another user; only its own directory leads here
        self._socket.listen(1)

    def accept(self, deadline: float, given_up: Callable[[], bool]) -> socket.socket:
        """Return the player's connection, before `deadline` and while not `given_up()`; raise `ChannelError`."""
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


def welcome(connected: socket.socket, side: Side, track: Track, rules: QueryRules, deadline: float) -> Channel:
    """Read and check HELLO, answer WELCOME, and return the open channel. Raise `ChannelError`, the socket closed."""
    channel = Channel(connected, max_payload=frames.MAX_COUNT * (rules.shape.size + 2))
    try:
        hello = channel.receive(HELLO_DUE, deadline)
        magic, version, role = frames.HELLO_PAYLOAD.unpack(hello.payload)
        if magic != frames.MAGIC:
            raise ChannelError(Reason.BAD_HELLO, f"magic {bytes(magic)!r}, expected {frames.MAGIC!r}")
        if version != frames.VERSION:
            raise ChannelError(Reason.BAD_HELLO, f"protocol version {version}, this referee speaks {frames.VERSION}")
        if role != _ROLES[side]:
            raise ChannelError(Reason.BAD_HELLO, f"role {role}, the {side} has role {_ROLES[side]}")
        attacks = side is Side.ATTACK  # a model learns nothing about its opponent
        flags = frames.FLAG_TARGETED if attacks and track is Track.TARGETED else 0
        budget = rules.query_budget if attacks else 0
        payload = frames.WELCOME_PAYLOAD.pack(
            frames.VERSION, role, *rules.shape, rules.classes, frames.MAX_COUNT, flags, budget
        )
        channel.send(frames.WELCOME, 0, 0, payload, deadline=deadline)
    except ChannelError as error:
        channel.reject(str(error))
        if error.reason in (Reason.BAD_TYPE, Reason.BAD_LENGTH, Reason.BAD_COUNT):
            raise ChannelError(Reason.BAD_HELLO, error.detail) from None
        raise
    return channel
