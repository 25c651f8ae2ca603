"""The cache contains JSON, so that its contents cannot execute code.

The tests use the configured cache: files, or Redis if the broker is Redis.
"""

from __future__ import annotations

import os
import pickle
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings as configured
from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache
from django.test import Client
from django.utils.functional import lazystr
from unfold.dataclasses import SearchResult

from accounts.models import User
from competitions.models import Competition

KEY = "throttle_anon_127.0.0.1"


class Planted:
    """Object that creates a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


def plant(key: str, value: bytes, *, header: bytes = pickle.dumps(time.time() + 600)) -> None:
    """Write to `key` directly: `value` in Redis, or `header` and the compressed `value` in a file."""
    cache = caches["default"]
    if isinstance(cache, RedisCache):
        with redis.Redis.from_url(configured.CACHES["default"]["LOCATION"]) as client:
            client.set(cache.make_key(key), value)
    else:
        cache.set(key, "a value")
        (file,) = Path(configured.CACHES["default"]["LOCATION"]).iterdir()
        file.write_bytes(header + zlib.compress(value))


def test_it_keeps_values_counts_adds_once_and_forgets_what_expired() -> None:
    """Throttles, locks, counters and expiring values."""
    cache = caches["default"]
    values = [1763800000.25, 1763800000.5], True, 7, None, "Ωmega", {"value": -0.1, "low": 1e-300, "high": 3.0}
    for value in values:
        cache.set("key", value)
        assert cache.get("key", "missing") == value
    assert cache.add("key", 1) is False
    cache.set("count", 1)
    assert cache.incr("count") == cache.get("count") == 2
    assert cache.touch("count", 60)
    assert cache.get_many(["key", "count", "no"]) == {"key": values[-1], "count": 2}
    cache.set("gone", 1, timeout=0)
    assert cache.get("gone") is None
    assert not cache.touch("gone", 60)


def test_unreadable_entries_count_as_missing() -> None:
    """Such as pickles and invalid JSON."""
    cache = caches["default"]
    for planted in (pickle.dumps([1.0]), b"", b"[" * 100_000, b"\xff", b"{"):
        plant(KEY, planted)
        assert cache.get(KEY, "missing") == "missing"
        assert cache.get_many([KEY]) == {}


@pytest.mark.parametrize("header", [b"", None], ids=["first", "second"])
def test_it_rejects_a_planted_pickle_without_running_it(
    client: Client, competition: Competition, tmp_path: Path, header: bytes | None
) -> None:
    mark = tmp_path / "unpickled"
    bomb = pickle.dumps(Planted(mark))
    plant(KEY, bomb, header=bomb if header is None else header)
    assert client.get("/api/v1/competitions").status_code == 200
    assert not mark.exists()
    assert len(caches["default"].get(KEY)) == 1  # a new counter


def test_the_search_of_the_admin_is_cached(client: Client, root_user: User) -> None:
    client.force_login(root_user)
    first, second = (client.get("/admin/search/", {"s": "team"}).content.decode() for _ in range(2))
    assert "/admin/accounts/team/" in first
    assert second.split("<script")[0] == first.split("<script")[0]


def test_cached_dataclasses_are_read_back_as_plain_values() -> None:
    cache = caches["default"]
    cache.set("found", [SearchResult(lazystr("Teams"), "Accounts", "/admin/", None)])
    assert cache.get("found") == [{"title": "Teams", "description": "Accounts", "link": "/admin/", "icon": None}]


def test_it_rejects_values_that_json_cannot_represent() -> None:
    with pytest.raises(TypeError, match="complex"):
        caches["default"].set("key", 1j)
    assert caches["default"].get("key", "missing") == "missing"
