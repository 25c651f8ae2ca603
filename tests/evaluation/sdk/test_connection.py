"""The player's end of a connection: whole frames, however they arrive."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from gauntlet import frames
from gauntlet.connection import Connection


def frame(kind: int, sequence: int, payload: bytes) -> bytes:
    return frames.HEADER.pack(len(payload), kind, 0, sequence) + payload


@pytest.fixture
def pair() -> Iterator[tuple[Connection, socket.socket]]:
    ours, theirs = socket.socketpair()
    theirs.sendall(frame(frames.WELCOME, 0, frames.WELCOME_PAYLOAD.pack(1, 1, 8, 8, 3, 10, 64, 0, 5)))
    connection = Connection(frames.ROLE_MODEL, ours)
    yield connection, theirs
    connection.close()
    theirs.close()


def test_a_frame_is_received_with_its_type_sequence_and_payload(pair: tuple[Connection, socket.socket]) -> None:
    connection, theirs = pair
    theirs.sendall(frame(frames.PREDICT, 7, b"pixels"))
    got = connection.receive()
    assert (got.type, got.sequence, bytes(got.payload)) == (frames.PREDICT, 7, b"pixels")
    assert connection.welcome.shape == (8, 8, 3)


def test_frames_that_arrive_together_are_taken_one_by_one(pair: tuple[Connection, socket.socket]) -> None:
    connection, theirs = pair
    whole = b"".join(frame(frames.ANSWERS, number, bytes([number]) * 100 * number) for number in range(4))
    theirs.sendall(whole + frame(frames.BYE, 0, b"")[:5])
    assert [bytes(connection.receive().payload) for _ in range(4)] == [bytes([n]) * 100 * n for n in range(4)]
    theirs.sendall(frame(frames.BYE, 0, b"")[5:])
    assert connection.receive().type == frames.BYE


def test_the_buffer_grows_to_the_longest_frame(pair: tuple[Connection, socket.socket]) -> None:
    connection, theirs = pair
    for size in (10, 150_000, 20):
        theirs.sendall(frame(frames.PREDICT, size, bytes(size)))
        assert len(connection.receive().payload) == size


def test_a_frame_that_arrives_in_parts_is_put_together(pair: tuple[Connection, socket.socket]) -> None:
    connection, theirs = pair
    theirs.settimeout(5)
    connection.send(frames.LABELS, 2, 9, b"", b"ab", memoryview(b"cd"))
    hello_and_labels = frames.HEADER.size * 2 + frames.HELLO_PAYLOAD.size + 4
    received = theirs.recv(hello_and_labels, socket.MSG_WAITALL)
    assert received[-4:] == b"abcd"
    assert frames.HEADER.unpack(received[-20:-4]) == (4, frames.LABELS, 2, 9)


def test_it_ends_when_the_referee_has_gone(pair: tuple[Connection, socket.socket]) -> None:
    connection, theirs = pair
    theirs.sendall(frame(frames.PREDICT, 1, bytes(30))[:20])
    theirs.close()
    with pytest.raises(SystemExit):
        connection.receive()


def test_the_last_words_of_the_referee_are_shown(pair: tuple[Connection, socket.socket]) -> None:
    connection, theirs = pair
    theirs.sendall(frame(frames.REJECTED, 0, b"bad frame"))
    with pytest.raises(SystemExit, match="bad frame"):
        connection.receive()
