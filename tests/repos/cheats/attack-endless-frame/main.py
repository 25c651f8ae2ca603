"""Sends a frame that does not end."""

from __future__ import annotations

import os
import socket
import struct
import sys

HEADER = struct.Struct("<IHHQ")  # payload length, type, count, sequence
HELLO, QUERY, FINISH = 1, 2, 3


def send(kind, count, sequence, payload=b"", length=None):
    size = len(payload) if length is None else length
    connection.sendall(HEADER.pack(size, kind, count, sequence) + payload)


def exactly(size):
    got = b""
    while len(got) < size:
        part = connection.recv(size - len(got))
        if not part:
            sys.exit(0)  # the match is over
        got += part
    return got


def receive():
    length, kind, count, sequence = HEADER.unpack(exactly(HEADER.size))
    return kind, count, sequence, exactly(length)


connection = socket.socket(socket.AF_UNIX)
connection.connect(os.environ["GAUNTLET_SOCKET"])
send(HELLO, 0, 0, struct.pack("<4sHH", b"GNTL", 1, 2))
receive()  # WELCOME
_, count, _, piece = receive()
pixels = 16 + 8 * count  # where the first image begins
size = (len(piece) - pixels) // count
numbers = [struct.unpack_from("<H", piece, 16 + 8 * i)[0] for i in range(count)]
clean = piece[pixels : pixels + size]
# a good query first: what it finds must not be lost
query = struct.pack("<H", numbers[0]) + bytes((54 * v + 46 * (255 - v)) // 100 for v in clean)
send(QUERY, 1, 1, query)
receive()

send(QUERY, 1, 2, query + bytes(1 << 20), length=len(query))
while True:
    connection.sendall(bytes(1 << 20))
