"""An attack that writes frames itself, with as little Python as possible: transport and referee are measured."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable

from bench.blocks import serve_blocks
from gauntlet import frames


class RawAttack:
    """A connection during a piece; starts a new piece when the budget of this one is too small."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(os.environ["GAUNTLET_SOCKET"])
        self._reply = bytearray(frames.HEADER.size + 6 * frames.MAX_COUNT)
        self._sequence = 0
        hello = frames.HELLO_PAYLOAD.pack(frames.MAGIC, frames.VERSION, frames.ROLE_ATTACK)
        self._socket.sendall(frames.HEADER.pack(len(hello), frames.HELLO, 0, 0) + hello)
        _, _, height, width, channels, _, _, _, budget = frames.WELCOME_PAYLOAD.unpack(self._receive()[1])
        self._image_bytes = height * width * channels
        self._budget = budget
        self._begin_piece()

    def _begin_piece(self) -> None:
        count, _ = self._receive()
        self._left = [self._budget] * count  # the benchmark numbers its samples from 0

    def _receive(self) -> tuple[int, bytearray]:
        """Return count and payload of the next frame."""
        length, _, count, _ = frames.HEADER.unpack(self._exactly(frames.HEADER.size))
        return count, self._exactly(length)

    def _exactly(self, size: int) -> bytearray:
        got = bytearray()
        while len(got) < size:
            part = self._socket.recv(size - len(got))
            if not part:
                raise SystemExit("the referee closed the connection")
            got += part
        return got

    def prepare(self, count: int) -> Callable[[], None]:
        """Return a function that sends requests of `count` images each, spread over the samples of the piece."""
        self._next_piece()  # a full budget, so that few blocks change pieces in the middle
        pixels = os.urandom(count * self._image_bytes)
        numbers = struct.Struct(f"<{count}H")
        first = 0

        def ask() -> None:
            nonlocal first
            order = [(first + i) % len(self._left) for i in range(count)]
            first = (first + count) % len(self._left)
            if min(self._left[number] for number in order) <= count:
                self._next_piece()
            for number in order:
                self._left[number] -= 1
            self._query(count, numbers.pack(*order), pixels)

        return ask

    def _query(self, count: int, numbers: bytes, pixels: bytes) -> None:
        self._sequence += 1
        header = frames.HEADER.pack(len(numbers) + len(pixels), frames.QUERY, count, self._sequence)
        sent = self._socket.sendmsg([header, numbers, pixels]) - len(header) - len(numbers)
        if sent < len(pixels):
            self._socket.sendall(memoryview(pixels)[max(sent, 0) :])
        size = frames.HEADER.size + 6 * count
        got = self._socket.recv_into(self._reply, size, socket.MSG_WAITALL)
        if got != size or frames.HEADER.unpack_from(self._reply)[1] != frames.ANSWERS:
            raise SystemExit("the referee did not answer the query")

    def _next_piece(self) -> None:
        self._sequence += 1
        self._socket.sendall(frames.HEADER.pack(0, frames.FINISH, 0, self._sequence))
        self._begin_piece()


if __name__ == "__main__":
    serve_blocks(RawAttack().prepare)
