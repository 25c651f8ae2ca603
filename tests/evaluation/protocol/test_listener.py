"""The referee's socket: it accepts one connection, once."""

from __future__ import annotations

import socket
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from evaluation.domain.failure_reasons import Reason
from evaluation.protocol.channel import ChannelError
from evaluation.protocol.listener import Listener


@pytest.fixture
def listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    monkeypatch.chdir(tmp_path)  # the path of a socket has room for 107 bytes
    opened = Listener(Path("referee.sock"))
    yield opened
    opened.close()


def dial() -> socket.socket:
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.connect("referee.sock")
    return connected


def soon(seconds: float = 5.0) -> float:
    return time.monotonic() + seconds


def test_a_player_that_connects_is_accepted(listener: Listener) -> None:
    with dial() as theirs, listener.accept(soon(), lambda: False) as ours:
        theirs.sendall(b"hello")
        assert ours.recv(5) == b"hello"


def test_a_player_of_another_user_may_connect(listener: Listener) -> None:
    assert stat.S_IMODE(Path("referee.sock").stat().st_mode) == 0o666


def test_it_rejects_a_second_connection(listener: Listener) -> None:
    with dial(), listener.accept(soon(), lambda: False):
        assert not Path("referee.sock").exists()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as second, pytest.raises(FileNotFoundError):
            second.connect("referee.sock")


def test_it_rejects_a_second_connection_that_waited(listener: Listener) -> None:
    """A connection that queued before the first was accepted is closed."""
    with dial(), dial() as second, listener.accept(soon(), lambda: False):
        second.settimeout(5.0)
        with suppress(ConnectionResetError):  # the other way in which a system reports it
            assert second.recv(1) == b""


def test_it_rejects_a_player_that_ended(listener: Listener) -> None:
    with pytest.raises(ChannelError) as raised:
        listener.accept(soon(60.0), lambda: True)
    assert raised.value.reason is Reason.EXITED_IN_SETUP


def test_it_rejects_a_player_that_never_connects(listener: Listener) -> None:
    with pytest.raises(ChannelError) as raised:
        listener.accept(soon(0.1), lambda: False)
    assert raised.value.reason is Reason.NEVER_CONNECTED


def test_closing_twice_is_quiet(listener: Listener) -> None:
    listener.close()
    listener.close()
    assert not Path("referee.sock").exists()
