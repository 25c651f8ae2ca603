"""Players that write raw frames, to break the protocol."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

import numpy as np
import pytest

HEADER = struct.Struct("<IHHQ")
HELLO, QUERY, FINISH, LABELS = 1, 2, 3, 4
WELCOME, PIECE, ANSWERS, PREDICT, REJECTED, BYE = 16, 17, 18, 19, 20, 21
MODEL, ATTACK = 1, 2


@dataclass
class ReceivedFrame:
    """One frame that a player received."""

    kind: int
    count: int
    sequence: int
    payload: bytes


class Wire:
    """The player's end of a connection, written without the SDK."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.seed = 0
        self.samples: list[int] = []
        self.images: list[bytes] = []

    def send(self, kind: int, count: int, sequence: int, payload: bytes = b"", *, length: int | None = None) -> None:
        """Send one frame; `length` is a false length of the payload for the header."""
        size = len(payload) if length is None else length
        self.socket.sendall(HEADER.pack(size, kind, count, sequence) + payload)

    def receive(self) -> ReceivedFrame:
        """Return the next frame; end the player's thread when the referee has closed the connection."""
        length, kind, count, sequence = HEADER.unpack(self._exactly(HEADER.size))
        return ReceivedFrame(kind, count, sequence, self._exactly(length))

    def _exactly(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            part = self.socket.recv(size - len(got))
            if not part:
                raise ConnectionError("the referee closed the connection")
            got += part
        return got

    def hello(self, role: int, magic: bytes = b"GNTL", version: int = 1) -> ReceivedFrame:
        self.send(HELLO, 0, 0, struct.pack("<4sHH", magic, version, role))
        return self.receive()

    def begin_attack(self) -> None:
        """Send HELLO, then read the piece: fill `seed`, `samples` and `images`."""
        self.hello(ATTACK)
        self.take_piece()

    def take_piece(self) -> None:
        piece = self.receive()
        if piece.kind == BYE:
            raise ConnectionError("the match has ended")
        (self.seed,) = struct.unpack_from("<Q", piece.payload)
        pixels = 16 + 8 * piece.count
        size = (len(piece.payload) - pixels) // piece.count
        self.samples = [struct.unpack_from("<H", piece.payload, 16 + 8 * i)[0] for i in range(piece.count)]
        self.images = [piece.payload[pixels + i * size : pixels + (i + 1) * size] for i in range(piece.count)]

    def query(self, sequence: int, numbers: list[int], images: list[bytes]) -> None:
        self.send(QUERY, len(numbers), sequence, struct.pack(f"<{len(numbers)}H", *numbers) + b"".join(images))

    def ask(self, sequence: int, numbers: list[int], images: list[bytes]) -> tuple[list[int], list[int]]:
        """Return the labels and the queries left."""
        self.query(sequence, numbers, images)
        answers = self.receive()
        if answers.kind != ANSWERS:
            raise ConnectionError("the match has ended")
        count = answers.count
        labels = list(struct.unpack_from(f"<{count}h", answers.payload))
        return labels, list(struct.unpack_from(f"<{count}I", answers.payload, 2 * count))

    def finish(self, sequence: int) -> None:
        self.send(FINISH, 0, sequence)

    def brighter(self, index: int, by: int) -> bytes:
        """Return the clean image of one sample with each value raised by `by`."""
        clean = np.frombuffer(self.images[index], np.uint8).astype(int)
        return bytes(np.clip(clean + by, 0, 255).astype(np.uint8))

    def labels(self, received: ReceivedFrame, labels: list[int]) -> None:
        """Answer the PREDICT frame `received`."""
        self.send(LABELS, received.count, received.sequence, struct.pack(f"<{len(labels)}h", *labels))

    def wait_for_disconnect(self) -> None:
        """Wait until the referee closes the connection."""
        while self.socket.recv(4096):
            pass


@pytest.fixture
def wire() -> type[Wire]:
    return Wire
