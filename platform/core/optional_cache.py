"""The cache for what the site can do without: while it cannot be reached, nothing is found in it and nothing kept."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from django.core.cache import cache

T = TypeVar("T")

log = logging.getLogger(__name__)


def get(key: str) -> Any:
    """Return the value, None if there is none."""
    return _try(lambda: cache.get(key), None)


def put(key: str, value: object, seconds: float | None) -> None:
    """Keep a value, without `seconds` for as long as the cache lasts."""
    _try(lambda: cache.set(key, value, seconds), None)


def add(key: str, value: object, seconds: float) -> bool:
    """Keep a value unless there is one; return whether there was none."""
    return _try(lambda: bool(cache.add(key, value, seconds)), True)


def increase(key: str, by: int) -> None:
    """Add to a number; nothing happens if there is none."""
    _try(lambda: cache.incr(key, by), 0)


def remove(key: str) -> None:
    """Forget a value."""
    _try(lambda: cache.delete(key), False)


def _try(ask: Callable[[], T], otherwise: T) -> T:
    try:
        return ask()
    except Exception:  # of any client of any server
        log.warning("the cache cannot be used", exc_info=True)
        return otherwise
