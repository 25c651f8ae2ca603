"""What both broken players need: a connection and frames, with the standard library alone."""

from __future__ import annotations

import os
import socket
import struct

HEADER = struct.Struct("<IHHQ")


def dial() -> socket.socket:
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.connect(os.environ["GAUNTLET_SOCKET"])
    return connected


def send(referee: socket.socket, kind: int, count: int, sequence: int, payload: bytes) -> None:
    referee.sendall(HEADER.pack(len(payload), kind, count, sequence) + payload)


def receive(referee: socket.socket) -> tuple[int, int, int, bytes]:
    length, kind, count, sequence = HEADER.unpack(exactly(referee, HEADER.size))
    return kind, count, sequence, exactly(referee, length)


def exactly(referee: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = referee.recv(size - len(received))
        if not part:
            raise SystemExit(0)
        received += part
    return received
