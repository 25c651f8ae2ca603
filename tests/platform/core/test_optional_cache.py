"""A site does without its cache while that cannot be reached."""

from __future__ import annotations

import socket
import time

import pytest
from pytest_django import Settings

from config.environment import Environment
from core import optional_cache


@pytest.fixture
def hanging(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> socket.socket:
    """A Redis server that takes connections and answers nothing."""
    server = socket.create_server(("127.0.0.1", 0))
    host, port = server.getsockname()
    monkeypatch.setenv("GAUNTLET_CACHE", f"redis://{host}:{port}/0")
    settings.CACHES = {"default": Environment().cache("GAUNTLET_CACHE", "", otherwise_in=settings.STATE)}
    monkeypatch.setattr(optional_cache, "_pause_ends", 0.0)
    return server


def test_a_server_that_hangs_holds_up_one_access_and_is_then_left_alone(
    hanging: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = time.monotonic()
    assert optional_cache.get("key") is None
    first = time.monotonic() - begun
    assert first > optional_cache.SLOW
    for _ in range(10):
        assert optional_cache.add("key", 1, 60)
    assert time.monotonic() - begun < 2 * first
    monkeypatch.setattr(optional_cache, "PAUSE", 0.0)
    monkeypatch.setattr(optional_cache, "_pause_ends", 0.0)
    hanging.close()
    assert optional_cache.get("key") is None
    assert optional_cache._pause_ends == 0.0, "a refused connection takes no time"
