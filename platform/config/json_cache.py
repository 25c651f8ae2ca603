"""Django's file and Redis caches with JSON instead of pickles, so that cache contents cannot execute code.

An unreadable entry, for example from an earlier version, counts as missing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.filebased import FileBasedCache
from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from django.utils.functional import Promise

_MISSING = object()
_Key: TypeAlias = "str | bytes | memoryview[int]"


class UnreadableEntryError(ValueError):
    """A cache entry is not valid JSON."""


class JsonSerializer:
    """JSON serializer. Tuples are read back as lists, dataclass instances as dictionaries."""

    def dumps(self, obj: object) -> bytes:
        """Return the value as JSON. Raise `TypeError` for a value that JSON cannot represent."""
        return json.dumps(obj, default=_plain).encode()

    def loads(self, data: Any) -> Any:
        """Return the value. Raise `UnreadableEntryError` for invalid JSON."""
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise UnreadableEntryError(str(error)) from error


def _plain(value: object) -> object:
    # the admin's search caches dataclass instances, which its templates read like dictionaries
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Promise):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be stored in the cache as JSON")


_JSON = JsonSerializer()


class JsonFileBasedCache(FileBasedCache):
    """File cache. The first line of a file is its expiry time, the rest is the value."""

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        """Return the value, or `default` if it is missing or unreadable."""
        try:
            with Path(self._key_to_file(key, version)).open("rb") as file:  # type: ignore[attr-defined] # not in its stub
                return default if self._is_expired(file) else _JSON.loads(file.read())
        except (FileNotFoundError, UnreadableEntryError):
            return default

    def touch(self, key: str, timeout: float | None = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Set the value to expire in `timeout` seconds; return whether it exists."""
        value = self.get(key, _MISSING, version)
        if value is _MISSING:
            return False
        self.set(key, value, timeout, version)
        return True

    def _write_content(self, file: IO[bytes], timeout: float | None, value: object) -> None:
        written = _JSON.dumps(value)
        file.write(_JSON.dumps(self.get_backend_timeout(timeout)) + b"\n" + written)

    def _is_expired(self, file: IO[bytes]) -> bool:
        try:
            expires = _JSON.loads(file.readline())
        except UnreadableEntryError:
            expires = 0
        if expires is None or (isinstance(expires, int | float) and expires >= time.time()):
            return False
        self._delete(file.name)  # type: ignore[attr-defined] # not in its stub
        return True


class JsonRedisCacheClient(RedisCacheClient):
    """Client of `JsonRedisCache`."""

    def __init__(self, servers: list[str], **options: Any) -> None:
        super().__init__(servers, serializer=_JSON, **options)

    def get(self, key: _Key, default: Any) -> Any:
        """Return the value, or `default` if it is missing or unreadable."""
        try:
            return super().get(key, default)
        except UnreadableEntryError:
            return default

    def get_many(self, keys: Iterable[_Key]) -> dict[_Key, Any]:
        """Return the existing, readable values."""
        found = {key: self.get(key, _MISSING) for key in keys}
        return {key: value for key, value in found.items() if value is not _MISSING}


class JsonRedisCache(RedisCache):
    """Redis cache with JSON values."""

    def __init__(self, server: str | list[str], params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = JsonRedisCacheClient
