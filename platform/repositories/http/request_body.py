"""The body of a request: read in blocks, never held in memory, and cut off when its client is too slow."""

from __future__ import annotations

import socket
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, cast

from django.conf import settings
from django.http import HttpRequest

from core.errors import GauntletError, Refusal

BLOCK = 1 << 16
CHECK_SECONDS = 0.25

MAX_FETCH_BYTES = 8 << 20
"""Length of the request of a clone or fetch, inflated. git sends some kilobytes, and one megabyte for 20,000 commits.

Every line costs git a search, and equal lines shrink to nothing: unlimited, 1 MB of gzip keeps it busy for 5 s.
"""
GZIP = {"gzip", "x-gzip"}


class RequestCutOffError(GauntletError):
    """The request ended before it was complete: the client left, sent nothing or was too slow."""


class RequestTooLongError(GauntletError):
    """The request of a clone or fetch is longer than any that git sends. The message tells the caller what to do."""


class ClientTimeLimit:
    """Waiting time left to a client, in seconds. Pure: waiting uses it up, and each byte earns a little back.

    Never more than `most` seconds, so a client that was fast at first cannot be slow for long afterwards.
    """

    def __init__(self, least_rate: float, most: float) -> None:
        self._least_rate, self._most = least_rate, most
        self.left = most

    def waited(self, seconds: float, moved: int) -> None:
        """Count `seconds` of waiting for `moved` bytes."""
        self.left = min(self._most, self.left - seconds + moved / self._least_rate)


class StallWatchdog:
    """Calls `cut_off` with the reason when a client is too slow or the exchange takes too long.

    Only the time between `wait_begins` and `wait_ends` counts. Runs one thread until `close`.
    """

    def __init__(self, cut_off: Callable[[str], None]) -> None:
        self._cut_off = cut_off
        self._pace = ClientTimeLimit(settings.MIN_BYTES_PER_SECOND, settings.MAX_SLOW_SECONDS)
        self.until = time.monotonic() + settings.MAX_EXCHANGE_SECONDS
        self._waits_since: float | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="git client watchdog", daemon=True)
        self._thread.start()

    def wait_begins(self) -> None:
        """Start to count waiting time."""
        self._waits_since = time.monotonic()

    def wait_ends(self, moved: int) -> None:
        """Stop to count waiting time: the client sent or received `moved` bytes."""
        if self._waits_since is not None:
            self._pace.waited(time.monotonic() - self._waits_since, moved)
            self._waits_since = None

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(CHECK_SECONDS):
            now, since = time.monotonic(), self._waits_since
            if now > self.until:
                self._cut_off(took_too_long())
                return
            if since is not None and now - since > self._pace.left:
                self._cut_off(f"the client is slower than {settings.MIN_BYTES_PER_SECOND:,} bytes per second")
                return


def took_too_long() -> str:
    """Return the cause of a cut-off at the end of the time for one exchange."""
    return f"the exchange took more than {settings.MAX_EXCHANGE_SECONDS} s"


class _Socket(Protocol):
    def settimeout(self, seconds: float | None) -> None: ...
    def shutdown(self, how: int) -> None: ...


class _Stream(Protocol):
    def read(self, size: int) -> bytes: ...
    def readline(self, size: int) -> bytes: ...


class Body:
    """Blocks of a request's body, of given length or chunked. Raises `Refusal` if the server supports neither.

    Until `close` the client must keep the minimum transfer rate, and is cut off otherwise. Servers that do not expose
    the connection (gunicorn does) cut nobody off.
    """

    def __init__(self, request: HttpRequest) -> None:
        self._stream = cast("_Stream", request.META["wsgi.input"])
        self._socket = cast("_Socket | None", request.META.get("gunicorn.socket"))
        self._chunked = "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower()
        self._left = 0 if self._chunked else int(request.META.get("CONTENT_LENGTH") or 0)
        if self._chunked and not request.META.get("wsgi.input_terminated"):
            raise Refusal(
                "this server accepts no chunked requests", fix="git config http.postBuffer 536870912, or use gunicorn"
            )
        if self._socket is not None:
            self._socket.settimeout(settings.MAX_STALL_SECONDS)
        self._lock = threading.Lock()
        self._first = b""
        self._cause = ""
        self.ended = False
        self.watchdog = StallWatchdog(self.cut_off)

    def wait(self) -> None:
        """Wait for the first byte, which the next `read` returns; raise `RequestCutOffError`."""
        self._first = self._next(self._stream.readline, 1)  # `read` would wait for a kilobyte

    def read_fetch(self, encoding: str) -> None:
        """Read the whole request of a fetch and inflate it; the next `read` returns it.

        `encoding` is its content encoding. Raise `RequestTooLongError` above `MAX_FETCH_BYTES`, `RequestCutOffError` if
        it cannot be inflated.
        """
        inflater = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding.lower() in GZIP else None
        plain = bytearray()
        while len(plain) <= MAX_FETCH_BYTES and (block := self.read()):
            try:
                plain += inflater.decompress(block, MAX_FETCH_BYTES + 1 - len(plain)) if inflater else block
            except zlib.error as error:
                raise self._interrupted(f"its gzip encoding is damaged: {error}") from error
        if len(plain) > MAX_FETCH_BYTES:
            raise RequestTooLongError(
                f"the request names more commits than fit in {MAX_FETCH_BYTES >> 20} MiB; clone into an empty folder"
            )
        self._first = bytes(plain)

    def read(self) -> bytes:
        """Return the next block; empty at the end. Raise `RequestCutOffError`."""
        if self._first:
            block, self._first = self._first, b""
            return block
        return self._next(self._stream.read, BLOCK)

    def _next(self, read: Callable[[int], bytes], most: int) -> bytes:
        size = most if self._chunked else min(most, self._left)
        self.watchdog.wait_begins()
        try:
            # servers read until a block is full: only the watchdog notices a client that sends one byte at a time
            block = read(size) if size and not self.ended else b""
        except Exception as error:  # every server raises its own type
            raise self._interrupted(str(error)) from error
        self.watchdog.wait_ends(len(block))
        if self._cause:
            raise self._interrupted(self._cause)
        if not self._chunked:
            if self._left and not block:
                raise self._interrupted(f"{self._left} bytes before its end")
            self._left -= len(block)
        self.ended = not block
        return block

    def seconds_left(self) -> float:
        """Return the time left for the exchange; cut the client off and raise `RequestCutOffError` if there is none."""
        left = self.watchdog.until - time.monotonic()
        if left <= 0:
            self.cut_off(took_too_long())
            raise self._interrupted("")
        return left

    @property
    def was_cut_off(self) -> bool:
        """True if the site ended the connection."""
        return bool(self._cause)

    def _interrupted(self, cause: str) -> RequestCutOffError:
        return RequestCutOffError(f"the request was interrupted: {self._cause or cause}")

    def cut_off(self, cause: str) -> None:
        """Shut the connection down, so that reads and writes on it fail. Safe from any thread."""
        with self._lock:
            self._cause = self._cause or cause
            if self._socket is not None:
                with suppress(OSError):  # the client closed it already
                    self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Return the connection to the server unchanged."""
        self.watchdog.close()
        with self._lock:
            if self._socket is not None:
                self._socket.settimeout(None)
                self._socket = None
