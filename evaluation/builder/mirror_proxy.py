"""Network proxy of a build: a Unix socket that allows the package mirrors and refuses everything else.

It runs in the builder's process. The build container has no network; it reaches this socket through a mount.
"""

from __future__ import annotations

import contextlib
import queue
import select
import socket
import socketserver
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import requests

from evaluation.builder.mirrors import Mirror, Reach

SOCKET_NAME = "proxy.sock"

_CONNECT_SECONDS = 20.0
_IDLE_SECONDS = 120.0
_PROBE_SECONDS = 120.0
"""How long the site's own request waits for an answer."""
_POLL_SECONDS = 0.02
_CHUNK_BYTES = 1 << 16
_MAX_PAGE_BYTES = 16 << 20
_MAX_CONNECTIONS = 16
"""With `_MAX_PAGE_BYTES` it limits the memory that the builder needs for pages."""
_TLS_PORT = 443
_SERVER_ERROR = 500
_HOP_BY_HOP = frozenset(
    ("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
     "transfer-encoding", "upgrade", "content-length", "host")
)  # fmt: skip
_PAGES = ("text/html", "application/vnd.pypi.simple.v1+json", "application/vnd.pypi.simple.v1+html", "application/json")


class MirrorProxy:
    """Context manager that serves one build; `directory` is the one to mount, and contains only the socket."""

    def __init__(self, reach: Reach, certificates: Path | None = None) -> None:
        """Trust `certificates` for requests to mirrors; None: those of the library requests."""
        self._reach = reach
        self._certificates = certificates
        self._notices: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._refused: set[str] = set()
        self._unanswered: set[str] = set()
        self._open: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._stack = contextlib.ExitStack()
        self.directory = Path()

    def __enter__(self) -> MirrorProxy:
        with contextlib.ExitStack() as stack:
            # other users of this host cannot enter the outer folder; the engine mounts the inner one
            outer = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gauntlet-proxy-")))
            self.directory = outer / "mirrors"
            self.directory.mkdir()
            self.directory.chmod(0o755)
            server = stack.enter_context(_Server(str(self.directory / SOCKET_NAME), self))
            (self.directory / SOCKET_NAME).chmod(0o666)
            thread = threading.Thread(
                target=server.serve_forever, args=(_POLL_SECONDS,), name="mirror proxy", daemon=True
            )
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    @property
    def reach(self) -> Reach:
        """The mirrors and hosts that the build may reach."""
        return self._reach

    def mirror(self, path: str) -> Mirror | None:
        """Return the mirror that serves `path`, None if there is none."""
        return next((mirror for mirror in self._reach.mirrors if path.startswith(f"{mirror.prefix}/")), None)

    def notices(self) -> Iterator[str]:
        """Yield the refusals since the last call, as lines for the build's log."""
        with contextlib.suppress(queue.Empty):
            while True:
                yield self._notices.get_nowait()

    def refused(self, what: str) -> str:
        """Return the reason for refusing `what`; log it once."""
        reason = f"{what} is not a package mirror that builds may reach"
        with self._lock:
            known = what in self._refused or len(self._refused) > _MAX_CONNECTIONS
            self._refused.add(what)
        if not known:
            self._notices.put(f"network: {reason}")
        return reason

    def record_no_answer(self, name: str) -> None:
        """Record that a mirror (by its origin) or a host did not answer a build properly."""
        with self._lock:
            self._unanswered.add(name)

    @contextlib.contextmanager
    def asking(self, mirror: Mirror) -> Iterator[None]:
        """Ask a mirror in the block, at whose end it has answered. A build may end before: pip gives up after 15 s."""
        with self._lock:
            self._open[mirror.origin] += 1
        try:
            yield
        finally:
            with self._lock:
                self._open[mirror.origin] -= 1

    def unreachable_mirrors(self) -> list[str]:
        """Return the needed mirrors that did not answer the build and still do not answer.

        The site sends its own request: a build can make any server answer with an error.
        """
        with self._lock:
            asked = {*self._unanswered, *(name for name, number in self._open.items() if number)}
        return sorted(name for name in asked & self._reach.needed if not self._answers(name))

    def _answers(self, name: str) -> bool:
        mirror = next((each for each in self._reach.mirrors if each.origin == name), None)
        url = f"{mirror.origin}{mirror.path}" if mirror else f"https://{name}/"
        headers = {"Authorization": mirror.authorization} if mirror and mirror.authorization else {}
        try:
            with self.get("GET", url, headers, seconds=_PROBE_SECONDS) as answer:
                return answer.status_code < _SERVER_ERROR
        except requests.RequestException:
            return False

    def get(
        self, method: str, url: str, headers: dict[str, str], *, seconds: float = _IDLE_SECONDS
    ) -> requests.Response:
        """Request `url`, without following redirections; wait `seconds` for each part of the answer."""
        return requests.request(
            method,
            url,
            headers=headers,
            stream=True,
            allow_redirects=False,
            auth=_only_given,
            timeout=(_CONNECT_SECONDS, seconds),
            verify=str(self._certificates) if self._certificates else True,
        )


def _only_given(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Leave `request` as it is: without this, requests adds a password from the `.netrc` of the site's user."""
    return request


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = _MAX_CONNECTIONS

    def __init__(self, path: str, proxy: MirrorProxy) -> None:
        self.proxy = proxy
        self._free = threading.BoundedSemaphore(_MAX_CONNECTIONS)
        super().__init__(path, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._free.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore broken connections, which builds leave behind at their end."""


class _Handler(BaseHTTPRequestHandler):
    """Handler of one connection with one request: to a mirror, or to a host with or without TLS."""

    server: _Server
    timeout = _IDLE_SECONDS

    def do_CONNECT(self) -> None:
        host, _, port = self.path.rpartition(":")
        if not self.server.proxy.reach.allows(host) or port != str(_TLS_PORT):
            self._refuse(self.path)
            return
        try:
            remote = socket.create_connection((host, _TLS_PORT), timeout=_CONNECT_SECONDS)
        except OSError as error:
            self.server.proxy.record_no_answer(host.lower())
            self._answer(502, f"{host} is unreachable: {error}")
            return
        with remote:
            self.send_response(200)
            self.end_headers()
            if not self._tunnel(remote):
                self.server.proxy.record_no_answer(host.lower())

    def do_GET(self) -> None:
        mirror = self.server.proxy.mirror(self.path)
        if mirror is not None:
            self._ask_mirror(mirror)
            return
        parts = urlsplit(self.path)
        allowed = parts.hostname is not None and self.server.proxy.reach.allows(parts.hostname)
        if parts.scheme != "http" or parts.port not in (None, 80) or not allowed:
            self._refuse(parts.hostname or self.path)
            return
        self._forward(f"http://{parts.hostname}{parts.path}{'?' if parts.query else ''}{parts.query}", {})

    do_HEAD = do_GET  # noqa: N815 - named by the library

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class has it
        """Log nothing: downloads are in the build's own log."""

    def address_string(self) -> str:
        return "build"

    def _ask_mirror(self, mirror: Mirror) -> None:
        path = self.path.removeprefix(mirror.prefix)
        if not mirror.covers(path):
            self._refuse(f"{path.partition('?')[0]} of the mirror")
            return
        # pages are rewritten, so they must come uncompressed
        headers = {"Accept-Encoding": "identity"}
        if mirror.authorization:
            headers["Authorization"] = mirror.authorization
        with self.server.proxy.asking(mirror):
            self._forward(mirror.origin + path, headers, mirror)

    def _forward(self, url: str, extra: dict[str, str], mirror: Mirror | None = None) -> None:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP_BY_HOP}
        try:
            answer = self.server.proxy.get(self.command, url, headers | extra)
        except requests.RequestException as error:
            self.server.proxy.record_no_answer(mirror.origin if mirror else urlsplit(url).hostname or "")
            # without the error's text, which may contain the mirror's address
            self._answer(502, f"the mirror is unreachable ({type(error).__name__})")
            return
        with answer:
            if mirror is not None and answer.status_code >= _SERVER_ERROR:
                self.server.proxy.record_no_answer(mirror.origin)
            if mirror is not None and answer.headers.get("Content-Type", "").partition(";")[0] in _PAGES:
                self._send_page(answer, mirror)
            else:
                self._send(answer, mirror)

    def _send_page(self, answer: requests.Response, mirror: Mirror) -> None:
        page = answer.raw.read(_MAX_PAGE_BYTES + 1, decode_content=True)
        if len(page) > _MAX_PAGE_BYTES:
            self._answer(502, "the mirror's page is too long")
            return
        page = mirror.local_page(page)
        self.send_response(answer.status_code)
        self._send_headers(answer, mirror, rewritten=True)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def _send(self, answer: requests.Response, mirror: Mirror | None) -> None:
        self.send_response(answer.status_code)
        self._send_headers(answer, mirror)
        if "Content-Length" in answer.headers:
            self.send_header("Content-Length", answer.headers["Content-Length"])
        self.end_headers()
        for chunk in answer.raw.stream(_CHUNK_BYTES, decode_content=False):
            self.wfile.write(chunk)

    def _send_headers(self, answer: requests.Response, mirror: Mirror | None, *, rewritten: bool = False) -> None:
        # a rewritten page is sent uncompressed
        skipped = ("set-cookie", "content-encoding") if rewritten else ("set-cookie",)
        for name, value in answer.headers.items():
            if name.lower() in _HOP_BY_HOP or name.lower() in skipped:
                continue
            shown = value
            if mirror is not None and name.lower() == "location":
                shown = mirror.local_link(value)
            self.send_header(name, shown)
        self.send_header("Connection", "close")

    def _tunnel(self, remote: socket.socket) -> bool:
        """Pass on what the build and `remote` send each other; return whether `remote` sent anything."""
        pairs = {self.connection: remote, remote: self.connection}
        answered = False
        with contextlib.suppress(OSError):  # one of them broke its connection off
            while ready := select.select(list(pairs), [], [], _IDLE_SECONDS)[0]:
                for source in ready:
                    chunk = source.recv(_CHUNK_BYTES)
                    if not chunk:
                        return answered
                    answered = answered or source is remote
                    pairs[source].sendall(chunk)
        return answered

    def _refuse(self, what: str) -> None:
        self._answer(403, self.server.proxy.refused(what[:200]))

    def _answer(self, status: int, text: str) -> None:
        body = f"{text}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
