"""Messages between a program of 2018 and its supervisor."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from avc2018 import messages


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection."""
    first, second = socket.socketpair()
    with first, second:
        yield first, second


def test_a_request_and_its_reply_are_read_as_they_were_sent(ends: tuple[socket.socket, socket.socket]) -> None:
    messages.send_request(ends[0], messages.STORE, 3, b"image")
    assert messages.read_request(ends[1], 5) == (messages.STORE, 3, b"image")
    messages.send_reply(ends[1], messages.USED_UP, b"text")
    assert messages.read_reply(ends[0]) == (messages.USED_UP, b"text")


def test_it_rejects_a_message_that_is_too_long(ends: tuple[socket.socket, socket.socket]) -> None:
    messages.send_request(ends[0], messages.STORE, 3, b"image")
    with pytest.raises(ValueError, match="at most 4 are expected"):
        messages.read_request(ends[1], 4)


def test_half_a_message_is_a_closed_connection(ends: tuple[socket.socket, socket.socket]) -> None:
    ends[0].sendall(messages.REQUEST.pack(messages.STORE, 3, 5) + b"im")
    ends[0].close()
    with pytest.raises(messages.Closed):
        messages.read_request(ends[1], 5)
