"""Messages between a program of 2018 and its supervisor, on a Unix stream socket of the same sandbox.

A request is a header (kind u8, sample i32, length u32, little-endian) and `length` bytes. TAKEN and PASSED get no
reply; every other request gets one: a header (value i32, length u32) and `length` bytes.
"""

from __future__ import annotations

import socket
import struct
from typing import Tuple

REQUEST = struct.Struct("<BiI")
REPLY = struct.Struct("<iI")

SOCKET_VARIABLE = "AVC2018_SOCKET"
"""The environment variable with the path of the supervisor's socket."""

IMAGES = 1
"""The samples that are left. The reply is a JSON object; the images are files in $INPUT_IMG_PATH."""
TAKEN = 2
"""The program's loop took `sample`."""
PASSED = 3
"""A loop over the samples begins, or came to its end."""
QUERY = 4
"""An image, raw uint8. The reply's value is its label, or `USED_UP`."""
STORE = 5
"""The answer for `sample`: raw uint8, or nothing."""
COMPLETE = 6
"""The attack is done."""

USED_UP = -2
"""The value of a reply: the queries of the sample are used up."""


class Closed(Exception):
    """The other end of the connection is gone."""


def receive(connection: socket.socket, size: int) -> bytes:
    """Return exactly `size` bytes. Raise `Closed`."""
    parts = []
    while size:
        try:
            part = connection.recv(min(size, 1 << 20))
        except ConnectionResetError:
            part = b""
        if not part:
            raise Closed
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_request(connection: socket.socket, most: int) -> Tuple[int, int, bytes]:
    """Return kind, sample and content of the next request. Raise `Closed`; ValueError for more than `most` bytes."""
    kind, sample, length = REQUEST.unpack(receive(connection, REQUEST.size))
    if length > most:
        raise ValueError("a message of {} bytes; at most {} are expected".format(length, most))
    return kind, sample, receive(connection, length)


def send_request(connection: socket.socket, kind: int, sample: int = 0, content: bytes = b"") -> None:
    """Send a request."""
    connection.sendall(REQUEST.pack(kind, sample, len(content)) + content)


def read_reply(connection: socket.socket) -> Tuple[int, bytes]:
    """Return value and content of the reply. Raise `Closed`."""
    value, length = REPLY.unpack(receive(connection, REPLY.size))
    return value, receive(connection, length)


def send_reply(connection: socket.socket, value: int = 0, content: bytes = b"") -> None:
    """Send a reply."""
    connection.sendall(REPLY.pack(value, len(content)) + content)
