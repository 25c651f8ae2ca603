"""A client that sends a byte now and then holds a thread of the server for so long and no longer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.http import HttpRequest
from gunicorn.http.body import LengthReader
from gunicorn.http.unreader import SocketUnreader
from pytest_django import Settings

from repositories.body import Body, BrokenOff
from repositories.serving import Exchange

PROMISED = 1 << 20


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends: the server's, and that of a client that trickles until it is cut off."""
    server, client = socket.socketpair()
    over = threading.Event()

    def trickle() -> None:
        try:
            while not over.wait(0.01):
                client.sendall(b"0")
        except OSError:
            over.set()

    slow = threading.Thread(target=trickle)
    slow.start()
    yield server, client
    over.set()
    slow.join()
    server.close()
    client.close()


@pytest.fixture
def body(connection: tuple[socket.socket, socket.socket]) -> Body:
    """The body of a push as gunicorn gives it: each block is read to its end."""
    server, _ = connection
    request = HttpRequest()
    reader = LengthReader(SocketUnreader(server), PROMISED)
    request.META = {"wsgi.input": reader, "gunicorn.socket": server, "CONTENT_LENGTH": str(PROMISED)}
    return Body(request)


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


def test_it_works(body: Body, variables: dict[str, str], settings: Settings) -> None:
    settings.MAX_EXCHANGE_SECONDS = 1
    tidied = threading.Event()
    with pytest.raises(BrokenOff, match="the request broke off"):
        Exchange(variables=variables, body=body, tidy=tidied.set).head()
    assert tidied.is_set()


def test_a_connection_that_was_given_back_is_not_cut(
    connection: tuple[socket.socket, socket.socket], body: Body
) -> None:
    server, client = connection
    body.close()
    body.cut_off()
    server.sendall(b"the answer to the next request")
    assert client.recv(100) == b"the answer to the next request"


def test_no_timer_outlives_its_exchange(body: Body, variables: dict[str, str]) -> None:
    before = set(threading.enumerate())
    exchange = Exchange(variables=variables, body=body)
    (timer,) = set(threading.enumerate()) - before
    exchange.close()
    timer.join()
