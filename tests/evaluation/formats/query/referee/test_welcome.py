"""HELLO and WELCOME."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator

import pytest

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import ImageShape
from evaluation.domain.players import Side, TrackName
from evaluation.formats.query.referee.handshake import welcome
from evaluation.formats.query.rules import QueryRules
from evaluation.protocol.channel import ChannelError
from gauntlet import frames

RULES = QueryRules(shape=ImageShape(8, 6, 3), classes=10, query_budget=77)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    theirs.settimeout(5.0)
    yield ours, theirs
    ours.close()
    theirs.close()


def hello(magic: bytes = b"GNTL", version: int = 1, role: int = 1) -> bytes:
    return struct.pack("<IHHQ4sHH", 8, 1, 0, 0, magic, version, role)


@pytest.mark.parametrize(
    ("side", "track", "fields"),
    [
        (Side.MODEL, TrackName.MODEL, (1, 1, 8, 6, 3, 10, 64, 0, 0)),
        (Side.MODEL, TrackName.UNTARGETED, (1, 1, 8, 6, 3, 10, 64, 0, 0)),
        (Side.ATTACK, TrackName.UNTARGETED, (1, 2, 8, 6, 3, 10, 64, 0, 77)),
        (Side.ATTACK, TrackName.TARGETED, (1, 2, 8, 6, 3, 10, 64, 1, 77)),
    ],
)
def test_each_side_gets_the_rules_and_only_attacks_get_budget_and_track(
    pair: tuple[socket.socket, socket.socket], side: Side, track: TrackName, fields: tuple[int, ...]
) -> None:
    ours, theirs = pair
    theirs.sendall(hello(role=fields[1]))
    welcome(ours, side, track, RULES, time.monotonic() + 60)
    assert struct.unpack("<IHHQ8HI", theirs.recv(1024)) == (20, frames.WELCOME, 0, 0, *fields)


@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        (hello(magic=b"HTTP"), "magic b'HTTP'"),
        (hello(version=0), "version 0"),
        (hello(version=2), "version 2"),
        (hello(role=2), "role 2"),
        (hello(role=0), "role 0"),
        (struct.pack("<IHHQ", 8, frames.QUERY, 1, 1) + bytes(8), "type 2"),
        (struct.pack("<IHHQ", 9, frames.HELLO, 0, 0) + bytes(9), "9 bytes"),
        (struct.pack("<IHHQ", 8, frames.HELLO, 1, 0) + bytes(8), "count 1"),
        (b"GET / HTTP/1.1\r\nHost: referee\r\n\r\n", "type"),
    ],
)
def test_it_rejects_a_wrong_hello(pair: tuple[socket.socket, socket.socket], sent: bytes, seen: str) -> None:
    ours, theirs = pair
    theirs.sendall(sent)
    with pytest.raises(ChannelError) as raised:
        welcome(ours, Side.MODEL, TrackName.MODEL, RULES, time.monotonic() + 60)
    assert raised.value.reason is Reason.BAD_HELLO
    assert seen in raised.value.detail
    reply = theirs.recv(1024)
    assert frames.HEADER.unpack_from(reply)[1] == frames.REJECTED
    assert seen in reply[frames.HEADER.size :].decode("ascii")
    assert ours.fileno() == -1


@pytest.mark.parametrize(
    ("sent", "seconds", "reason"),
    [
        (b"", 0.2, Reason.TOO_SLOW),
        (hello()[:20], 0.2, Reason.TOO_SLOW),
        (hello() + hello(), 60.0, Reason.UNEXPECTED_BYTES),
    ],
    ids=["silent", "half", "twice"],
)
def test_it_rejects_a_hello_that_is_not_one_whole_frame(
    pair: tuple[socket.socket, socket.socket], sent: bytes, seconds: float, reason: Reason
) -> None:
    ours, theirs = pair
    theirs.sendall(sent)
    with pytest.raises(ChannelError) as raised:
        welcome(ours, Side.MODEL, TrackName.MODEL, RULES, time.monotonic() + seconds)
    assert raised.value.reason is reason


def test_it_rejects_a_player_that_hangs_up(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    theirs.close()
    with pytest.raises(ChannelError) as raised:
        welcome(ours, Side.ATTACK, TrackName.UNTARGETED, RULES, time.monotonic() + 60)
    assert raised.value.reason is Reason.DISCONNECTED
