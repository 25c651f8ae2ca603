"""Frames by hand, for players that break the protocol."""

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
class Told:
    """One frame that a player was sent."""

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
        """One frame; `length` is what the header says of the payload, where that is a lie."""
        size = len(payload) if length is None else length
        self.socket.sendall(HEADER.pack(size, kind, count, sequence) + payload)

    def receive(self) -> Told:
        """The next frame; ends the player's thread when the referee is gone."""
        length, kind, count, sequence = HEADER.unpack(self._exactly(HEADER.size))
        return Told(kind, count, sequence, self._exactly(length))

    def _exactly(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            part = self.socket.recv(size - len(got))
            if not part:
                raise ConnectionError("the referee has gone")
            got += part
        return got

    def hello(self, role: int, magic: bytes = b"GNTL", version: int = 1) -> Told:
        self.send(HELLO, 0, 0, struct.pack("<4sHH", magic, version, role))
        return self.receive()

    def sit_down_to_attack(self) -> None:
        """HELLO, then the piece: fills `seed`, `samples` and `images`."""
        self.hello(ATTACK)
        self.take_piece()

    def take_piece(self) -> None:
        piece = self.receive()
        if piece.kind == BYE:
            raise ConnectionError("the match is over")
        (self.seed,) = struct.unpack_from("<Q", piece.payload)
        pixels = 16 + 8 * piece.count
        size = (len(piece.payload) - pixels) // piece.count
        self.samples = [struct.unpack_from("<H", piece.payload, 16 + 8 * i)[0] for i in range(piece.count)]
        self.images = [piece.payload[pixels + i * size : pixels + (i + 1) * size] for i in range(piece.count)]

    def query(self, sequence: int, numbers: list[int], images: list[bytes]) -> None:
        self.send(QUERY, len(numbers), sequence, struct.pack(f"<{len(numbers)}H", *numbers) + b"".join(images))

    def ask(self, sequence: int, numbers: list[int], images: list[bytes]) -> tuple[list[int], list[int]]:
        """Labels and queries left."""
        self.query(sequence, numbers, images)
        answers = self.receive()
        if answers.kind != ANSWERS:
            raise ConnectionError("the match is over")
        count = answers.count
        labels = list(struct.unpack_from(f"<{count}h", answers.payload))
        return labels, list(struct.unpack_from(f"<{count}I", answers.payload, 2 * count))

    def finish(self, sequence: int) -> None:
        self.send(FINISH, 0, sequence)

    def brighter(self, index: int, by: int) -> bytes:
        """The clean image of one sample, each value raised by `by`."""
        clean = np.frombuffer(self.images[index], np.uint8).astype(int)
        return bytes(np.clip(clean + by, 0, 255).astype(np.uint8))

    def labels(self, told: Told, labels: list[int]) -> None:
        """The answer that `told`, a PREDICT frame, is due."""
        self.send(LABELS, told.count, told.sequence, struct.pack(f"<{len(labels)}h", *labels))

    def wait_for_the_end(self) -> None:
        """Do nothing until the referee hangs up."""
        while self.socket.recv(4096):
            pass


@pytest.fixture
def wire() -> type[Wire]:
    return Wire
