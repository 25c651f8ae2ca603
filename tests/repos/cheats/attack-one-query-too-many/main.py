"""Asks once more than the budget allows, and does not play on unless it is told so."""

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

for sequence in range(2, 82):
    send(QUERY, 1, sequence, query)
    _, _, _, answer = receive()
    label, left = struct.unpack("<hI", answer)
    if (label == -2) != (sequence > 60) or left != max(0, 60 - sequence):
        sys.exit(f"query {sequence}: label {label}, {left} left")
second = struct.pack("<H", numbers[1]) + query[2:]
send(QUERY, 1, 82, second)
_, _, _, answer = receive()
if struct.unpack("<hI", answer)[1] != 59:
    sys.exit("the other samples have lost a query")
send(FINISH, 0, 83)
while connection.recv(65536):  # until the referee hangs up
    pass
