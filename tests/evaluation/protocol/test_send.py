"""Sending to a peer: whole frames, one deadline, which also ends a peer that does not read."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from evaluation.domain.failure_reasons import Reason
from evaluation.protocol.channel import Channel, ChannelError
from gauntlet import frames


@pytest.fixture
def pair() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    channel = Channel(ours, max_payload=1024)
    yield channel, theirs
    channel.close()
    theirs.close()


def soon(seconds: float = 5.0) -> float:
    return time.monotonic() + seconds


def read_all(theirs: socket.socket) -> bytes:
    received = b""
    while part := theirs.recv(65536):
        received += part
    return received


def test_a_frame_is_sent_with_its_header_and_all_parts_of_its_payload(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair
    channel.send(frames.ANSWERS, 2, 7, b"ab", memoryview(b"cde"), deadline=soon())
    channel.close()
    assert read_all(theirs) == frames.HEADER.pack(5, frames.ANSWERS, 2, 7) + b"abcde"


def test_it_sends_what_is_larger_than_the_kernels_buffer(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair
    received: list[bytes] = []
    thread = threading.Thread(target=lambda: received.append(read_all(theirs)))
    thread.start()
    first, second = bytes(3_000_000), b"x" * 3_000_000
    channel.send(frames.PIECE, 10, 0, first, second, deadline=soon(30.0))
    channel.close()
    thread.join()
    assert received == [frames.HEADER.pack(6_000_000, frames.PIECE, 10, 0) + first + second]


def test_it_rejects_a_peer_that_never_reads(pair: tuple[Channel, socket.socket]) -> None:
    channel, _ = pair
    with pytest.raises(ChannelError) as raised:
        channel.send(frames.PIECE, 10, 0, bytes(10_000_000), deadline=soon(0.1))
    assert raised.value.reason is Reason.TOO_SLOW


def test_it_rejects_a_peer_that_is_gone(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair
    theirs.close()
    with pytest.raises(ChannelError) as raised:
        channel.send(frames.BYE, 0, 0, deadline=soon())
    assert raised.value.reason is Reason.DISCONNECTED


def test_reject_tells_the_peer_why(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair
    channel.reject("bad_count: count 65 \N{EM DASH} too many")
    text = b"bad_count: count 65 ? too many"
    assert read_all(theirs) == frames.HEADER.pack(len(text), frames.REJECTED, 0, 0) + text


@pytest.mark.parametrize("farewell", [Channel.bye, lambda channel: channel.reject("late"), Channel.close])
def test_closing_without_a_peer_raises_nothing(pair: tuple[Channel, socket.socket], farewell: object) -> None:
    channel, theirs = pair
    theirs.close()
    assert callable(farewell)
    farewell(channel)
    channel.close()


def test_bye_is_an_empty_frame(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair
    channel.bye()
    assert read_all(theirs) == frames.HEADER.pack(0, frames.BYE, 0, 0)
