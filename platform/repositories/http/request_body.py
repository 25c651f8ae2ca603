"""The body of a request, read in blocks and never held in memory."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, cast

from django.conf import settings
from django.http import HttpRequest

from core.errors import GauntletError, Refusal
from repositories.http.transfer_rate import StallWatchdog

BLOCK = 1 << 16


class RequestCutOffError(GauntletError):
    """The request ended before it was complete: the client left, sent nothing or was too slow."""


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
