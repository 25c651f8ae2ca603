"""The player's end of its one connection: blocking frames, no deadlines (the referee keeps the clock)."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass
from typing import Any, List, NamedTuple, Optional, Tuple

from gauntlet import frames


class Welcome(NamedTuple):
    """What the referee says of the match. `shape` is (height, width, channels); `budget` queries for each sample."""

    shape: Tuple[int, int, int]
    classes: int
    max_count: int
    targeted: bool
    budget: int


@dataclass
class Frame:
    """One frame that arrived."""

    type: int
    count: int
    sequence: int
    payload: bytearray


class Connection:
    """A connection on which HELLO and WELCOME have been exchanged."""

    def __init__(self, role: int, connected: Optional[socket.socket] = None) -> None:
        """Connect to the referee at $GAUNTLET_SOCKET, or use a socket that is `connected` already."""
        self._socket = connected if connected is not None else _dial()
        self.send(frames.HELLO, 0, 0, frames.HELLO_PAYLOAD.pack(frames.MAGIC, frames.VERSION, role))
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
        views = [memoryview(part).cast("B") for part in parts if len(part)]
        header = frames.HEADER.pack(sum(map(len, views)), kind, count, sequence)
        try:
            self._send_all([memoryview(header), *views])
        except (BrokenPipeError, ConnectionResetError):
            while True:
                self.receive()

    def _send_all(self, views: List[memoryview]) -> None:
        sent = self._socket.sendmsg(views)
        for view in views:
            if sent >= len(view):
                sent -= len(view)
                continue
            self._socket.sendall(view[sent:])
            sent = 0

    def receive(self) -> Frame:
        """Wait for the next frame. Ends the process quietly when the referee is gone: the match is over then."""
        length, kind, count, sequence = frames.HEADER.unpack(self._exactly(frames.HEADER.size))
        payload = self._exactly(length)
        if kind == frames.REJECTED:
            raise SystemExit("the referee closed the connection: " + payload.decode("ascii", "replace"))
        return Frame(kind, count, sequence, payload)

    def _exactly(self, size: int) -> bytearray:
        buffer = bytearray(size)
        view = memoryview(buffer)
        got = 0
        while got < size:
            try:
                count = self._socket.recv_into(view[got:], size - got, socket.MSG_WAITALL)
            except ConnectionResetError:
                count = 0
            if count == 0:
                print("gauntlet: the referee has gone; ending", file=sys.stderr)
                raise SystemExit(0)
            got += count
        return buffer

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
