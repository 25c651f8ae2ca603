"""A receiver of webhooks on this host, which the name hooks.example leads to, and a webhook of the Owls to it."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from competitions.models import Entry
from webhooks import delivery_request, services
from webhooks.models import Webhook, WebhookEvent
from webhooks.receiver_address import LOOPBACK
from webhooks.sending import send_due

CERTIFICATE = Path(__file__).parent / "receiver.pem"
"""Certificate of hooks.example with its key, which no program trusts but these tests."""


@dataclass
class TestReceiver:
    """What a receiver got, and how it answers."""

    __test__ = False
    port: int = 0
    status: int = 204
    text: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    first_line: bytes = b""
    """What it sends in place of an answer in HTTP."""
    endless: bool = False
    """It sends a line of headers again and again, and never an answer."""
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"https://hooks.example:{self.port}/gauntlet?room=7"


def _handler(receiver: TestReceiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.requests.append((self.path, dict(self.headers.items()), body))
            if receiver.first_line:
                self.wfile.write(receiver.first_line + b"\r\n\r\n")
                return
            if receiver.endless:
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                while True:
                    self.wfile.write(b"X-More: 1\r\n")
                    time.sleep(0.02)
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(receiver.text)))
            self.end_headers()
            self.wfile.write(receiver.text)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
            """Log nothing."""

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that the site ended."""


@pytest.fixture
def receiver() -> Iterator[TestReceiver]:
    """A server with TLS on this host."""
    found = TestReceiver()
    with _Server(("127.0.0.1", 0), _handler(found)) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        # the handshake in the thread of the request: a client that refuses the certificate blocks no other
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        found.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield found
        server.shutdown()
        thread.join()


def names(host: str) -> list[str]:
    """Resolve hooks.example to this host, as a name server may."""
    if host == "hooks.example":
        return ["127.0.0.1"]
    raise OSError(host)


@pytest.fixture
def trusted() -> ssl.SSLContext:
    """Trusts the certificate of the receiver alone."""
    return ssl.create_default_context(cafile=str(CERTIFICATE))


@pytest.fixture
def post(trusted: ssl.SSLContext) -> Callable[..., delivery_request.Answer]:
    """`delivery_request.post` with that name server and certificate."""
    return partial(delivery_request.post, resolve=names, context=trusted)


@pytest.fixture
def send(post: Callable[..., delivery_request.Answer]) -> Callable[[], bool]:
    """`send_due` to receivers on this host."""
    return partial(send_due, post=post, allowed=LOOPBACK)


@pytest.fixture
def webhook(entry: Entry, alice: User, receiver: TestReceiver) -> Webhook:
    """A webhook of the Owls with all events."""
    made, _ = services.add_team_webhook(entry=entry, address=receiver.address, events=WebhookEvent.values, by=alice)
    return made
