"""The referee's end of a connection: whole frames, one deadline each.

The peer is hostile. A frame is accepted only if its type is due, its count is in range and its length is exactly the
one that type and count imply. It is read into a buffer that was allocated before, never by a length from the peer.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from evaluation.domain.results import Reason
from evaluation.protocol import frames

TICK = 0.25
"""Seconds that one system call may block. Deadlines have this accuracy, at no extra system call per frame."""

_TIMEVAL = struct.Struct("@ll")


class ChannelError(Exception):
    """The peer broke the protocol, its time limit or its connection: `reason`, and the observation in `detail`."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason = reason
        self.detail = detail


class Layout(NamedTuple):
    """The layout of a frame type: the allowed counts; the payload is fixed + count x each bytes."""

    low: int
    high: int
    fixed: int
    each: int


@dataclass(slots=True)
class Frame:
    """One accepted frame. `payload` is a view into the channel's buffer, valid until the next receive."""

    type: int
    count: int
    sequence: int
    payload: memoryview


class Channel:
    """One connected stream socket."""

    def __init__(self, connected: socket.socket, *, max_payload: int) -> None:
        self._socket = connected
        self._socket.setblocking(True)
        tick = _TIMEVAL.pack(int(TICK), int(TICK % 1 * 1_000_000))
        # blocking calls with a kernel timeout: one system call a frame, where a Python timeout needs two
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, tick)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, tick)
        self._buffer = bytearray(frames.HEADER.size + max_payload)
        self._view = memoryview(self._buffer)

    def receive(self, due: Mapping[int, Layout], deadline: float) -> Frame:
        """Return the next whole frame, before `deadline` (`time.monotonic()`); raise `ChannelError`.

        Read up to a full buffer at a time: a peer only sends replies, so bytes after the frame are an error.
        """
        head = frames.HEADER.size
        got = 0
        need = head
        while got < need:
            got += self._read(got, deadline)
            if need == head and got >= head:
                length, kind, count, sequence = frames.HEADER.unpack_from(self._buffer)
                layout = due.get(kind)
                if layout is None:
                    raise ChannelError(Reason.BAD_TYPE, f"type {kind}, expected one of {sorted(due)}")
                low, high, fixed, each = layout
                if not low <= count <= high:
                    raise ChannelError(Reason.BAD_COUNT, f"count {count}, expected {low} to {high}")
                if length != fixed + count * each:
                    raise ChannelError(Reason.BAD_LENGTH, f"payload of {length} bytes, {fixed + count * each} expected")
                need = head + length
        if got > need:
            raise ChannelError(Reason.UNEXPECTED_BYTES, f"{got - need} bytes after the frame")
        return Frame(kind, count, sequence, self._view[head:need])

    def _read(self, got: int, deadline: float) -> int:
        """Read bytes after the first `got`; return their number."""
        try:
            count = self._socket.recv_into(self._view[got:])
        except BlockingIOError:
            count = -1
        except OSError as error:
            raise ChannelError(Reason.DISCONNECTED, error.strerror or "") from None
        if count == 0:
            raise ChannelError(Reason.DISCONNECTED, "in mid-frame" if got else "")
        if time.monotonic() > deadline:
            raise ChannelError(Reason.TOO_SLOW, f"{got + max(count, 0)} bytes of a frame arrived in time")
        return max(count, 0)

    def send(self, kind: int, count: int, sequence: int, *parts: memoryview | bytes, deadline: float) -> None:
        """Send one whole frame with the payload `parts`, views of bytes, before `deadline`; raise `ChannelError`."""
        size = sum(map(len, parts))
        pending: list[memoryview | bytes] = [frames.HEADER.pack(size, kind, count, sequence), *parts]
        while pending:
            try:
                sent = self._socket.sendmsg(pending)
            except BlockingIOError:
                sent = 0
            except OSError as error:
                raise ChannelError(Reason.DISCONNECTED, error.strerror or "") from None
            if sent == frames.HEADER.size + size:
                return
            while pending and sent >= len(pending[0]):
                sent -= len(pending.pop(0))
            if pending:
                pending[0] = memoryview(pending[0])[sent:]
                if time.monotonic() > deadline:
                    raise ChannelError(Reason.TOO_SLOW, "it did not read the frames sent to it")

    def reject(self, text: str) -> None:
        """Send the peer the reason for its rejection, if it still listens, and close."""
        with suppress(ChannelError):
            self.send(frames.REJECTED, 0, 0, text.encode("ascii", "replace"), deadline=time.monotonic())
        self.close()

    def bye(self) -> None:
        """Send the peer BYE, if it still listens, and close."""
        with suppress(ChannelError):
            self.send(frames.BYE, 0, 0, deadline=time.monotonic())
        self.close()

    def close(self) -> None:
        """Close the connection. Safe to call twice."""
        self._socket.close()
