"""A slow or silent client holds a server thread only for a limited time."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.http import HttpRequest
from gunicorn.http.body import Body as GunicornBody
from gunicorn.http.body import LengthReader
from gunicorn.http.unreader import SocketUnreader
from pytest_django import Settings

from repositories.http.git_http_backend import BackendProcess
from repositories.http.request_body import Body, ClientTimeLimit, RequestCutOffError

PROMISED = 1 << 30
Connection = tuple[socket.socket, socket.socket]


@pytest.fixture
def connection() -> Iterator[Connection]:
    """The server's and the client's end of a connection."""
    server, client = socket.socketpair()
    yield server, client
    server.close()
    client.close()


@pytest.fixture
def sending(connection: Connection) -> Iterator[Callable[..., None]]:
    """Let the client send `count` bytes per 10 ms until it is cut off, after `at_first` bytes."""
    over = threading.Event()
    threads = []

    def send(count: int, at_first: int) -> None:
        with contextlib.suppress(OSError):
            connection[1].sendall(bytes(at_first))
            while not over.wait(0.01):
                connection[1].sendall(bytes(count))

    def begin(count: int, at_first: int = 0) -> None:
        threads.append(threading.Thread(target=send, args=[count, at_first]))
        threads[-1].start()

    yield begin
    over.set()
    with contextlib.suppress(OSError):
        connection[1].shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join()


@pytest.fixture
def open_body(connection: Connection) -> Iterator[Callable[..., Body]]:
    """Open the body of a push as gunicorn does: each block is read completely."""
    with contextlib.ExitStack() as held:

        def opened(promised: int = PROMISED) -> Body:
            server, _ = connection
            request = HttpRequest()
            reader = GunicornBody(LengthReader(SocketUnreader(server), promised))
            request.META = {"wsgi.input": reader, "gunicorn.socket": server, "CONTENT_LENGTH": str(promised)}
            return held.enter_context(contextlib.closing(Body(request)))

        yield opened


OpenBody = Callable[..., Body]
Sending = Callable[..., None]


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    return {
        "REQUEST_METHOD": "POST",
        "GIT_PROJECT_ROOT": str(tmp_path),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": "/git-receive-pack",
        "CONTENT_TYPE": "application/x-git-receive-pack-request",
        "CONTENT_LENGTH": str(PROMISED),
        "REMOTE_USER": "alice",
    }


def test_an_exchange_that_takes_too_long_is_interrupted_and_cleaned_up(
    open_body: OpenBody,
    sending: Sending,
    variables: dict[str, str],
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings.MAX_EXCHANGE_SECONDS = 1
    sending(1)
    tidied = threading.Event()
    exchange = BackendProcess(variables=variables, body=open_body(), clean_up=tidied.set)
    with contextlib.suppress(RequestCutOffError):  # unless git answered before the first block was read
        exchange.head()
    for _ in exchange:
        pass
    assert tidied.is_set()
    assert "/git-receive-pack of alice: the request was interrupted: the exchange took more than 1 s" in caplog.messages


def test_it_rejects_a_client_below_the_minimum_rate(open_body: OpenBody, sending: Sending, settings: Settings) -> None:
    settings.MAX_SLOW_SECONDS, settings.MIN_BYTES_PER_SECOND = 1, 1 << 20
    sending(1)
    with pytest.raises(RequestCutOffError, match="the client is slower than 1,048,576 bytes per second"):
        open_body().read()


def test_it_rejects_a_slow_client_that_was_fast_before(
    open_body: OpenBody, sending: Sending, settings: Settings
) -> None:
    settings.MAX_SLOW_SECONDS, settings.MIN_BYTES_PER_SECOND = 1, 1 << 20
    body = open_body()
    sending(1, at_first=8 << 20)
    for _ in range(128):
        body.read()
    with pytest.raises(RequestCutOffError, match="the client is slower than"):
        body.read()


def test_it_rejects_a_silent_client_before_its_first_bytes(open_body: OpenBody, settings: Settings) -> None:
    settings.MAX_STALL_SECONDS = 0.2
    with pytest.raises(RequestCutOffError, match="timed out"):
        open_body().wait()


def test_it_rejects_a_client_that_reads_its_answer_slowly(
    open_body: OpenBody, connection: Connection, variables: dict[str, str], settings: Settings
) -> None:
    settings.MAX_SLOW_SECONDS = 0.5
    variables |= {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": "/info/refs",
        "QUERY_STRING": "service=git-upload-pack",
        "CONTENT_LENGTH": "",
    }
    exchange = BackendProcess(variables=variables, body=open_body(0))
    exchange.head()
    assert connection[1].recv(1) == b"", "it is cut off while the server waits for it to take what there is"
    exchange.close()


def test_time_that_the_server_takes_does_not_count(
    open_body: OpenBody, connection: Connection, settings: Settings
) -> None:
    settings.MAX_SLOW_SECONDS = 0.5
    body = open_body()
    connection[1].settimeout(1.5)
    with pytest.raises(TimeoutError):
        connection[1].recv(1)
    connection[1].sendall(b"0")
    body.wait()


def test_bytes_earn_waiting_time_up_to_a_limit() -> None:
    pace = ClientTimeLimit(least_rate=100, most=20)
    pace.waited(15, moved=0)
    assert pace.left == 5
    pace.waited(1, moved=600)
    assert pace.left == 10
    pace.waited(1, moved=1 << 30)
    assert pace.left == 20
    for _ in range(100):
        pace.waited(1, moved=100)
    assert pace.left == 20
    for _ in range(41):
        pace.waited(1, moved=50)
    assert pace.left < 0


def test_a_connection_returned_to_the_server_is_not_cut_off(connection: Connection, open_body: OpenBody) -> None:
    server, client = connection
    body = open_body()
    body.close()
    body.cut_off("too late")
    server.sendall(b"the answer to the next request")
    assert client.recv(100) == b"the answer to the next request"


def test_no_watchdog_outlives_its_exchange(open_body: OpenBody, variables: dict[str, str]) -> None:
    before = set(threading.enumerate())
    exchange = BackendProcess(variables=variables, body=open_body())
    (watch,) = set(threading.enumerate()) - before
    exchange.close()
    watch.join(30)
    assert not watch.is_alive()


def test_the_deadline_has_one_cause_whichever_thread_sees_it_first(
    open_body: OpenBody, settings: Settings, variables: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    body = open_body()
    body.watchdog.close()  # as on a host so busy that the watchdog has not run yet
    body.watchdog.until = 0
    with pytest.raises(RequestCutOffError, match="the request was interrupted"):
        BackendProcess(variables=variables, body=body).head()
    assert body.was_cut_off
    expected = f"the request was interrupted: the exchange took more than {settings.MAX_EXCHANGE_SECONDS} s"
    assert f"/git-receive-pack of alice: {expected}" in caplog.messages
