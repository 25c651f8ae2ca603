"""The body of a request, read in blocks and never held."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Protocol, cast

from django.http import HttpRequest

from core.errors import GauntletError, Refusal

BLOCK = 1 << 16
STALL_SECONDS = 120.0
"""How long a client may be silent, where the server lets us set it."""


class BrokenOff(GauntletError):  # noqa: N818 - says what happened
    """The client went away before its request was whole, or fell silent."""


class _Socket(Protocol):
    def settimeout(self, seconds: float | None) -> None: ...
    def shutdown(self, how: int) -> None: ...


class _Stream(Protocol):
    def read(self, size: int) -> bytes: ...


class Body:
    """Blocks of a request's body, of given length or chunked. Raises `Refusal` where the server knows neither."""

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
            self._socket.settimeout(STALL_SECONDS)
        self._given_back = threading.Lock()
        self.ended = False

    def read(self) -> bytes:
        """The next block; empty at the end. Raises `BrokenOff`."""
        size = BLOCK if self._chunked else min(BLOCK, self._left)
        try:
            block = self._stream.read(size) if size and not self.ended else b""
        except Exception as error:  # every server has its own
            raise BrokenOff(f"the request broke off: {error}") from error
        if not self._chunked:
            if self._left and not block:
                raise BrokenOff(f"the request broke off {self._left} bytes before its end")
            self._left -= len(block)
        self.ended = not block
        return block

    def cut_off(self) -> None:
        """End the connection while it is ours: whoever reads from it or writes to it hears so. From any thread."""
        with self._given_back:
            if self._socket is not None:
                with suppress(OSError):  # the client was faster
                    self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the connection back to the server as it was."""
        with self._given_back:
            if self._socket is not None:
                self._socket.settimeout(None)
                self._socket = None
