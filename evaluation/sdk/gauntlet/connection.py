"""The player's end of its one connection: blocking frames, no deadlines (the referee keeps the clock)."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass
from typing import Any, List, NamedTuple, Optional, Tuple

from gauntlet import frames

_FIRST_BUFFER = 1 << 16
"""Bytes of the buffer for frames at the start; it grows to the longest frame."""


class Welcome(NamedTuple):
    """What the referee says of the match. `shape` is (height, width, channels); `budget` queries for each sample."""

    shape: Tuple[int, int, int]
    classes: int
    max_count: int
    targeted: bool
    budget: int


@dataclass
class Frame:
    """One frame that arrived. `payload` is a view of the connection's buffer, valid until the next `receive`."""

    type: int
    count: int
    sequence: int
    payload: memoryview


class Connection:
    """A connection on which HELLO and WELCOME have been exchanged."""

    def __init__(self, role: int, connected: Optional[socket.socket] = None, *, offers: int = 0) -> None:
        """Connect to the referee at $GAUNTLET_SOCKET, or use a socket that is `connected` already.

        `offers`: what a model answers besides labels, as `frames.HELLO` says.
        """
        self._socket = connected if connected is not None else _dial()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, frames.SEND_BUFFER)
        self._view = memoryview(bytearray(_FIRST_BUFFER))
        self._begin = self._end = 0  # bytes of the next frame in the buffer
        self.send(frames.HELLO, 0, offers, frames.HELLO_PAYLOAD.pack(frames.MAGIC, frames.VERSION, role))
        frame = self.receive()
        if frame.type != frames.WELCOME:
            raise RuntimeError("the referee answered HELLO with a frame of type {}".format(frame.type))
        _, _, height, width, channels, classes, max_count, flags, budget = frames.WELCOME_PAYLOAD.unpack(frame.payload)
        targeted = bool(flags & frames.FLAG_TARGETED)
        self.welcome = Welcome((height, width, channels), classes, max_count, targeted, budget)

    def send(self, kind: int, count: int, sequence: int, *parts: Any) -> None:
        """Send one frame whose payload is `parts`, one after the other; each is anything with a buffer.

        Ends the process when the referee is gone, with its last words where it left some.
        """
        views = [memoryview(part) for part in parts if len(part)]
        size = sum([view.nbytes for view in views])
        header = frames.HEADER.pack(size, kind, count, sequence)
        try:
            sent = self._socket.sendmsg([header, *views])
            if sent < len(header) + size:
                self._send_rest([memoryview(header), *views], sent)
        except (BrokenPipeError, ConnectionResetError):
            while True:
                self.receive()

    def _send_rest(self, views: List[memoryview], sent: int) -> None:
        for view in views:
            if sent < view.nbytes:
                self._socket.sendall(view.cast("B")[sent:])
            sent = max(0, sent - view.nbytes)

    def receive(self) -> Frame:
        """Wait for the next frame. Ends the process quietly when the referee is gone: the match is over then."""
        # what arrived of this frame together with the last one
        got = self._end - self._begin
        self._view[:got] = self._view[self._begin : self._end]
        self._begin, self._end = 0, got
        head = frames.HEADER.size
        while got < head:
            got += self._read(self._view[got:])
        length, kind, count, sequence = frames.HEADER.unpack_from(self._view)
        need = head + length
        if need > len(self._view):
            longer = memoryview(bytearray(need))
            longer[:got] = self._view[:got]
            self._view = longer
        while got < need:
            got += self._read(self._view[got:need], socket.MSG_WAITALL)
        self._begin, self._end = need, got
        payload = self._view[head:need]
        if kind == frames.REJECTED:
            raise SystemExit("the referee closed the connection: " + bytes(payload).decode("ascii", "replace"))
        return Frame(kind, count, sequence, payload)

    def _read(self, into: memoryview, flags: int = 0) -> int:
        try:
            count = self._socket.recv_into(into, 0, flags)
        except ConnectionResetError:
            count = 0
        if count == 0:
            print("gauntlet: the referee has gone; ending", file=sys.stderr)
            raise SystemExit(0)
        return count

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def _dial() -> socket.socket:
    path = os.environ.get("GAUNTLET_SOCKET")
    if not path:
        raise SystemExit(
            "GAUNTLET_SOCKET is not set: a player is started by the referee, not by hand. "
            "Try `gauntlet check .` or `gauntlet play`."
        )
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.connect(path)
    return connected
