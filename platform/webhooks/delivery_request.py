"""One request to a receiver: to checked addresses only, without redirects, within limits of time and size."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.errors import Refusal
from webhooks.receiver_address import IpAddress, IpNetwork, Receiver, Resolver, checked_addresses, system_resolver

SECONDS = 10.0
"""Limit of a whole exchange, from the connection to the last byte that is read."""
CONNECT_SECONDS = 4.0
"""Limit for each address of a name."""
ANSWER_BYTES = 4096


@dataclass(frozen=True)
class Answer:
    """What came of a request: the status with the beginning of the answer, or the problem."""

    milliseconds: int
    status: int | None = None
    text: str = ""
    problem: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether the receiver took it."""
        return self.status is not None and 200 <= self.status < 300


def post(
    receiver: Receiver,
    body: bytes,
    headers: Mapping[str, str],
    *,
    allowed: Sequence[IpNetwork],
    resolve: Resolver = system_resolver,
    context: ssl.SSLContext | None = None,
) -> Answer:
    """Send `body` to a receiver and return the answer; a redirect is one like others, and is not followed.

    `allowed` are networks that may be reached although they are not public. `context` checks certificates; None for
    the system's.
    """
    began = time.monotonic()
    try:
        addresses = checked_addresses(receiver, allowed=allowed, resolve=resolve)
        with _Deadline(SECONDS) as deadline:
            status, read = _exchange(receiver, addresses, body, headers, context, deadline)
            deadline.check()
    except Refusal as refusal:
        return Answer(_since(began), problem=refusal.problem)
    except ssl.SSLCertVerificationError as error:
        return Answer(_since(began), problem=f"the certificate is not valid: {error.verify_message}")
    except (OSError, http.client.HTTPException) as error:
        late = time.monotonic() - began >= SECONDS
        problem = f"no answer within {SECONDS:g} s" if late or isinstance(error, TimeoutError) else _words(error)
        return Answer(_since(began), problem=problem)
    return Answer(_since(began), status=status, text=read.decode("utf-8", "replace"))


def _exchange(
    receiver: Receiver,
    addresses: Sequence[IpAddress],
    body: bytes,
    headers: Mapping[str, str],
    context: ssl.SSLContext | None,
    deadline: _Deadline,
) -> tuple[int, bytes]:
    connection = _CheckedConnection(receiver, addresses, context or ssl.create_default_context(), deadline)
    try:
        connection.request("POST", receiver.target, body, {"Host": receiver.host_header, **headers})
        answer = connection.getresponse()
        return answer.status, answer.read(ANSWER_BYTES)
    finally:
        connection.close()


class _Deadline:
    """Ends the connection of an exchange when its time is over, also one that goes on byte by byte."""

    def __init__(self, seconds: float) -> None:
        self._connection: socket.socket | None = None
        self._lock = threading.Lock()
        self._over = False
        self._until = time.monotonic() + seconds
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def left(self) -> float:
        """Return the seconds that are left. Raise `TimeoutError` if there are none."""
        seconds = self._until - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds

    def check(self) -> None:
        """Raise `TimeoutError` if the time is over: what was read then looks like the end of the answer."""
        with self._lock:
            if self._over:
                raise TimeoutError

    def watch(self, connection: socket.socket) -> None:
        """End this connection from now on. Raise `TimeoutError` if the time is over."""
        with self._lock:
            self._connection = connection
            if self._over:
                raise TimeoutError

    def _end(self) -> None:
        with self._lock:
            self._over = True
            if self._connection is None:
                return
            try:
                # of the connection below TLS, whose own shutdown would wait for the receiver
                socket.socket.shutdown(self._connection, socket.SHUT_RDWR)
            except OSError:  # it has ended
                return


class _CheckedConnection(http.client.HTTPConnection):
    """A connection to the first of the checked addresses that accepts one, with the certificate of the name."""

    def __init__(
        self, receiver: Receiver, addresses: Sequence[IpAddress], context: ssl.SSLContext, deadline: _Deadline
    ) -> None:
        super().__init__(receiver.host, receiver.port, timeout=SECONDS)
        self._receiver, self._addresses, self._context, self._deadline = receiver, addresses, context, deadline

    def connect(self) -> None:
        """Connect, and with TLS check the certificate."""
        plain = self._connected()
        plain.settimeout(SECONDS)
        self.sock = plain
        if self._receiver.secure:
            name = self._receiver.host
            self.sock = self._context.wrap_socket(plain, server_hostname=name, do_handshake_on_connect=False)
            self._deadline.watch(self.sock)
            self.sock.do_handshake()
        else:
            self._deadline.watch(self.sock)

    def _connected(self) -> socket.socket:
        failure: OSError = OSError("no address")
        for address in self._addresses:
            seconds = min(CONNECT_SECONDS, self._deadline.left())
            try:
                return socket.create_connection((str(address), self._receiver.port), timeout=seconds)
            except OSError as error:
                failure = error
        raise failure


def _since(began: float) -> int:
    return round(1000 * (time.monotonic() - began))


def _words(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"no answer: {text or type(error).__name__}"
