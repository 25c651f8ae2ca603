"""The body of a request, read in blocks and never held."""

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
    """The client went away before its request was whole, fell silent or was too slow."""


class _Socket(Protocol):
    def settimeout(self, seconds: float | None) -> None: ...
    def shutdown(self, how: int) -> None: ...


class _Stream(Protocol):
    def read(self, size: int) -> bytes: ...
    def readline(self, size: int) -> bytes: ...


class Body:
    """Blocks of a request's body, of given length or chunked. Raises `Refusal` where the server knows neither.

    From its making on until `close` the client is held to the least rate, and cut off where it falls below. With
    servers that do not give us the connection (gunicorn does) nobody is cut off.
    """

    def __init__(self, request: HttpRequest) -> None:
        self._stream = cast("_Stream", request.META["wsgi.input"])
        self._socket = cast("_Socket | None", request.META.get("gunicorn.socket"))
        self._chunked = "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower()
        self._left = 0 if self._chunked else int(request.META.get("CONTENT_LENGTH") or 0)
        if self._chunked and not request.META.get("wsgi.input_terminated"):
            raise Refusal(
                "this server takes no chunked requests", fix="git config http.postBuffer 536870912, or use gunicorn"
            )
        if self._socket is not None:
            self._socket.settimeout(settings.MAX_STALL_SECONDS)
        self._lock = threading.Lock()
        self._first = b""
        self._cause = ""
        self.ended = False
        self.watch = StallWatchdog(self.cut_off)

    def wait(self) -> None:
        """Wait for the first byte, which the next `read` gives; raises `RequestCutOffError`."""
        self._first = self._next(self._stream.readline, 1)  # `read` would wait for a kilobyte

    def read(self) -> bytes:
        """The next block; empty at the end. Raises `RequestCutOffError`."""
        if self._first:
            block, self._first = self._first, b""
            return block
        return self._next(self._stream.read, BLOCK)

    def _next(self, read: Callable[[int], bytes], most: int) -> bytes:
        size = most if self._chunked else min(most, self._left)
        self.watch.wait_begins()
        try:
            # servers read on until a block is whole: of a client that sends one byte at a time only the watch knows
            block = read(size) if size and not self.ended else b""
        except Exception as error:  # every server has its own
            raise self._broken_off(str(error)) from error
        self.watch.wait_ends(len(block))
        if self._cause:
            raise self._broken_off(self._cause)
        if not self._chunked:
            if self._left and not block:
                raise self._broken_off(f"{self._left} bytes before its end")
            self._left -= len(block)
        self.ended = not block
        return block

    @property
    def was_cut_off(self) -> bool:
        """Whether it was we who ended the connection."""
        return bool(self._cause)

    def _broken_off(self, seen: str) -> RequestCutOffError:
        return RequestCutOffError(f"the request broke off: {self._cause or seen}")

    def cut_off(self, cause: str) -> None:
        """End the connection while it is ours: whoever reads from it or writes to it hears so. From any thread."""
        with self._lock:
            self._cause = self._cause or cause
            if self._socket is not None:
                with suppress(OSError):  # the client was faster
                    self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the connection back to the server as it was."""
        self.watch.close()
        with self._lock:
            if self._socket is not None:
                self._socket.settimeout(None)
                self._socket = None
