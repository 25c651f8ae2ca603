"""Frames from a hostile peer: each failure is named in time, and nothing is read beyond the buffer."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.domain.failure_reasons import Reason
from evaluation.protocol.channel import Channel, ChannelError, Layout
from gauntlet import frames

IMAGE = 12
DUE = {
    frames.QUERY: Layout(1, 64, 0, 2 + IMAGE),
    frames.FINISH: Layout(0, 64, 0, frames.FINISH_SAMPLE.size),
    frames.HELLO: Layout(0, 0, frames.HELLO_PAYLOAD.size, 0),
}
MAX_PAYLOAD = 64 * (2 + IMAGE)


@pytest.fixture
def pair() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    channel = Channel(ours, max_payload=MAX_PAYLOAD)
    yield channel, theirs
    channel.close()
    theirs.close()


def soon(seconds: float = 5.0) -> float:
    return time.monotonic() + seconds


def query(count: int, sequence: int = 1) -> bytes:
    payload = bytes(range(count)) * (2 + IMAGE)
    return frames.HEADER.pack(len(payload), frames.QUERY, count, sequence) + payload


def test_a_frame_is_received_with_its_header_and_payload(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair
    theirs.sendall(query(3, sequence=2**64 - 1))
    frame = channel.receive(DUE, soon())
    assert (frame.type, frame.count, frame.sequence) == (frames.QUERY, 3, 2**64 - 1)
    assert bytes(frame.payload) == query(3)[frames.HEADER.size :]


def test_it_takes_one_frame_after_the_other(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair
    for sequence, count in enumerate([64, 1, 17], 1):
        theirs.sendall(query(count, sequence))
        assert channel.receive(DUE, soon()).count == count


def test_it_puts_a_frame_together_from_single_bytes(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair

    def trickle() -> None:
        for byte in query(2):
            theirs.sendall(bytes([byte]))

    thread = threading.Thread(target=trickle)
    thread.start()
    assert channel.receive(DUE, soon()).count == 2
    thread.join()


def head(length: int, kind: int, count: int) -> bytes:
    return struct.pack("<IHHQ", length, kind, count, 1)


EACH = 2 + IMAGE
HOSTILE = [
    ("type that does not exist", head(0, 99, 0), Reason.BAD_TYPE),
    ("type of the other side", head(2, frames.LABELS, 1) + b"\0\0", Reason.BAD_TYPE),
    ("type of the referee", head(0, frames.BYE, 0), Reason.BAD_TYPE),
    ("type 0", bytes(frames.HEADER.size), Reason.BAD_TYPE),
    ("no image", head(0, frames.QUERY, 0), Reason.BAD_COUNT),
    ("65 images", head(65 * EACH, frames.QUERY, 65) + bytes(65 * EACH), Reason.BAD_COUNT),
    ("65,535 images", head(65535 * EACH, frames.QUERY, 65535), Reason.BAD_COUNT),
    ("HELLO with a count", head(8, frames.HELLO, 1) + bytes(8), Reason.BAD_COUNT),
    ("one byte short", head(EACH - 1, frames.QUERY, 1) + bytes(EACH - 1), Reason.BAD_LENGTH),
    ("one byte long", head(EACH + 1, frames.QUERY, 1) + bytes(EACH + 1), Reason.BAD_LENGTH),
    ("empty", head(0, frames.QUERY, 1), Reason.BAD_LENGTH),
    ("4 GiB", head(0xFFFFFFFF, frames.QUERY, 64), Reason.BAD_LENGTH),
    ("4 GiB of FINISH", head(0xFFFFFFFF, frames.FINISH, 0), Reason.BAD_LENGTH),
    ("a byte after the frame", query(1) + b"!", Reason.UNEXPECTED_BYTES),
    ("two frames at once", query(1) + query(1, 2), Reason.UNEXPECTED_BYTES),
    ("a byte after an empty frame", head(0, frames.FINISH, 0) + b"!", Reason.UNEXPECTED_BYTES),
]


@pytest.mark.parametrize(("bytes_sent", "reason"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_it_rejects_a_frame_that_is_not_due(
    pair: tuple[Channel, socket.socket], bytes_sent: bytes, reason: Reason
) -> None:
    channel, theirs = pair
    theirs.sendall(bytes_sent)
    with pytest.raises(ChannelError) as raised:
        channel.receive(DUE, soon())
    assert raised.value.reason is reason
    assert raised.value.detail


@pytest.mark.parametrize("sent", [b"", query(1)[:1], query(1)[:15], query(1)[:16], query(1)[:-1]], ids=len)
def test_it_rejects_a_peer_that_hangs_up(pair: tuple[Channel, socket.socket], sent: bytes) -> None:
    channel, theirs = pair
    theirs.sendall(sent)
    theirs.close()
    with pytest.raises(ChannelError) as raised:
        channel.receive(DUE, soon())
    assert raised.value.reason is Reason.DISCONNECTED
    assert raised.value.detail == ("within a frame" if sent else "")


@pytest.mark.parametrize("sent", [b"", query(1)[:7], query(1)[:20]], ids=len)
def test_it_rejects_a_silent_peer(pair: tuple[Channel, socket.socket], sent: bytes) -> None:
    channel, theirs = pair
    theirs.sendall(sent)
    with pytest.raises(ChannelError) as raised:
        channel.receive(DUE, soon(0.1))
    assert raised.value.reason is Reason.TOO_SLOW
    assert f"{len(sent)} bytes" in raised.value.detail


def test_it_rejects_a_trickle_that_is_not_whole_at_the_deadline(pair: tuple[Channel, socket.socket]) -> None:
    """There is one deadline for the frame, however often a byte arrives."""
    channel, theirs = pair
    stop = threading.Event()

    def trickle() -> None:
        for byte in query(64):
            if stop.wait(0.02):
                return
            theirs.sendall(bytes([byte]))

    thread = threading.Thread(target=trickle)
    thread.start()
    with pytest.raises(ChannelError) as raised:
        channel.receive(DUE, soon(0.3))
    stop.set()
    thread.join()
    assert raised.value.reason is Reason.TOO_SLOW


def test_it_rejects_a_frame_after_the_deadline(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair
    theirs.sendall(query(1))
    with pytest.raises(ChannelError) as raised:
        channel.receive(DUE, soon(-1.0))
    assert raised.value.reason is Reason.TOO_SLOW


@given(
    length=st.integers(0, 2**32 - 1),
    kind=st.integers(0, 2**16 - 1),
    count=st.integers(0, 2**16 - 1),
    sequence=st.integers(0, 2**64 - 1),
)
def test_a_header_survives_the_wire(length: int, kind: int, count: int, sequence: int) -> None:
    packed = frames.HEADER.pack(length, kind, count, sequence)
    assert len(packed) == 16
    assert frames.HEADER.unpack(packed) == (length, kind, count, sequence)


near_frames = st.builds(
    lambda length, kind, count, rest: struct.pack("<IHHQ", length, kind, count, 1) + rest,
    st.sampled_from([0, 4, 8, EACH, 2 * EACH, 64 * EACH, 0xFFFFFFFF]),
    st.integers(0, 22),
    st.sampled_from([0, 1, 2, 64, 65, 0xFFFF]),
    st.binary(max_size=3 * EACH),
)


@settings(deadline=None, max_examples=300)
@given(sent=st.one_of(st.binary(max_size=2 * MAX_PAYLOAD), near_frames))
def test_any_bytes_are_a_due_frame_or_a_channel_error(sent: bytes) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    theirs.sendall(sent)
    theirs.shutdown(socket.SHUT_WR)
    channel = Channel(ours, max_payload=MAX_PAYLOAD)
    try:
        frame = channel.receive(DUE, soon())
    except ChannelError as error:
        assert error.reason in Reason  # noqa: PT017  # either branch is right, and each is looked at
    else:
        low, high, fixed, each = DUE[frame.type]
        assert low <= frame.count <= high
        assert bytes(frame.payload) == sent[16:]
        assert len(frame.payload) == fixed + frame.count * each
    finally:
        left = len(ours.recv(len(sent) + 1))
        channel.close()
        theirs.close()
    assert len(sent) - left <= frames.HEADER.size + MAX_PAYLOAD
