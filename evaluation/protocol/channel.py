"""Referee's end of a connection: whole frames, one deadline each, and no trust in the peer.

The peer may be hostile. A frame is accepted only if its type is due, its count is in range and its length follows from
both; it is read into a buffer allocated before, never into one of a length that the peer sent.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from evaluation.domain.failure_reasons import Reason
from gauntlet import frames

TICK = 0.25
"""Seconds that one system call may block: the accuracy of deadlines without another system call per frame."""

_TIMEVAL = struct.Struct("@ll")


class ChannelError(Exception):
    """The peer broke the protocol, its time limit or its connection. `reason` says how, `detail` what was seen."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason = reason
        self.detail = detail


class Layout(NamedTuple):
    """The layout of a frame type: allowed counts, and payload = fixed + count x each bytes."""

    low: int
    high: int
    fixed: int
    each: int


@dataclass(slots=True)
class ReceivedFrame:
    """One accepted frame. `payload` is a view into the channel's buffer, valid until the next `receive`."""

    type: int
    count: int
    sequence: int
    payload: memoryview


class Channel:
    """One connected stream socket."""

    def __init__(self, connected: socket.socket, *, max_payload: int) -> None:
        self.offers = 0
        """What a model offers besides labels, as its HELLO says."""
        self._socket = connected
        self._socket.setblocking(True)
        tick = _TIMEVAL.pack(int(TICK), int(TICK % 1 * 1_000_000))
        # blocking calls with a kernel time-out: one system call per frame instead of two with a Python time-out
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, tick)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, tick)
        # room for a whole frame: the sender need not wait for the reader
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, frames.SEND_BUFFER)
        self._buffer = bytearray(frames.HEADER.size + max_payload)
        self._view = memoryview(self._buffer)

    def receive(
        self, due: Mapping[int, Layout], deadline: float, *, extend: Callable[[], float] | None = None
    ) -> ReceivedFrame:
        """Return the next whole frame before `deadline` (`time.monotonic()`). Raise `ChannelError`.

        `extend` returns a later deadline, if there is one; it is called when the last one has passed.
        The first call reads up to a full buffer: peers only answer, so bytes after the frame break the protocol.
        """
        head = frames.HEADER.size
        got = 0
        while got < head:
            got += self._read(self._view[got:], got)
            if time.monotonic() > deadline:
                deadline = _extended(extend, f"{got} bytes of a frame arrived in time")
        length, kind, count, sequence = frames.HEADER.unpack_from(self._buffer)
        layout = due.get(kind)
        if layout is None:
            raise ChannelError(Reason.BAD_TYPE, f"type {kind}, expected {' or '.join(map(str, sorted(due)))}")
        low, high, fixed, each = layout
        if not low <= count <= high:
            raise ChannelError(Reason.BAD_COUNT, f"count {count}, allowed: {low} to {high}")
        if length != fixed + count * each:
            raise ChannelError(Reason.BAD_LENGTH, f"payload of {length} bytes, {fixed + count * each} expected")
        need = head + length
        while got < need:  # the kernel waits for the rest: Python would wake up for every few kilobytes
            got += self._read(self._view[got:need], got, socket.MSG_WAITALL)
            if time.monotonic() > deadline:
                deadline = _extended(extend, f"{got} bytes of a frame arrived in time")
        if got > need:
            raise ChannelError(Reason.UNEXPECTED_BYTES, f"{got - need} bytes after the frame")
        return ReceivedFrame(kind, count, sequence, self._view[head:need])

    def _read(self, into: memoryview, got: int, flags: int = 0) -> int:
        """Read some bytes of a frame of which `got` have arrived. Return their number."""
        try:
            count = self._socket.recv_into(into, 0, flags)
        except BlockingIOError:
            count = -1
        except OSError as error:
            raise ChannelError(Reason.DISCONNECTED, error.strerror or "") from None
        if count == 0:
            raise ChannelError(Reason.DISCONNECTED, "within a frame" if got else "")
        return max(count, 0)

    def send(
        self,
        kind: int,
        count: int,
        sequence: int,
        *parts: memoryview | bytes,
        deadline: float,
        extend: Callable[[], float] | None = None,
    ) -> None:
        """Send one whole frame with the payload `parts`, views of bytes, before `deadline`. Raise `ChannelError`.

        `extend` as in `receive`.
        """
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
                    deadline = _extended(extend, "it did not read the frame sent to it")

    def reject(self, text: str) -> None:
        """Send the peer the reason for the rejection, if it still reads, and close."""
        with suppress(ChannelError):
            self.send(frames.REJECTED, 0, 0, text.encode("ascii", "replace"), deadline=time.monotonic())
        self.close()

    def bye(self) -> None:
        """Send BYE to the peer, if it still reads, and close."""
        with suppress(ChannelError):
            self.send(frames.BYE, 0, 0, deadline=time.monotonic())
        self.close()

    def close(self) -> None:
        """Close the connection. Safe to call twice."""
        self._socket.close()


def _extended(extend: Callable[[], float] | None, seen: str) -> float:
    """Return the later deadline, or raise `ChannelError` where there is none."""
    deadline = extend() if extend is not None else 0.0
    if time.monotonic() > deadline:
        raise ChannelError(Reason.TOO_SLOW, seen)
    return deadline
