"""The cache for what the site can do without: while it cannot be reached, nothing is found in it and nothing kept.

A server that is gone refuses at once. One that hangs, or a network that is cut, would hold up each access of a page.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from django.core.cache import cache

T = TypeVar("T")

log = logging.getLogger(__name__)

SLOW = 1.0
"""Seconds after which an access that fails was held up."""
PAUSE = 10.0
"""Seconds for which this process leaves the cache alone afterwards."""

_pause_ends = 0.0


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
    global _pause_ends
    begun = time.monotonic()
    if begun < _pause_ends:
        return otherwise
    try:
        return ask()
    except Exception:  # of any client of any server
        log.warning("the cache cannot be used", exc_info=True)
        failed = time.monotonic()
        if failed - begun > SLOW:
            _pause_ends = failed + PAUSE
        return otherwise
