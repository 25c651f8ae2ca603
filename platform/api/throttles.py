"""How often programs may ask: as REST framework counts, and not at all while the cache cannot be reached."""

from __future__ import annotations

from typing import Any

from rest_framework.throttling import AnonRateThrottle, ScopedRateThrottle, UserRateThrottle

from core import optional_cache


class _RequestHistory:
    """What a throttle needs of a cache."""

    def get(self, key: str, default: Any) -> Any:
        """Return the value, or `default` where there is none."""
        found = optional_cache.get(key)
        return default if found is None else found

    def set(self, key: str, value: object, seconds: float) -> None:
        """Keep a value."""
        optional_cache.put(key, value, seconds)


class AnonymousThrottle(AnonRateThrottle):
    """Counts requests without a token by their network address."""

    cache = _RequestHistory()  # type: ignore[assignment] # a throttle uses only these methods


class PersonThrottle(UserRateThrottle):
    """Counts requests of a person."""

    cache = _RequestHistory()  # type: ignore[assignment] # a throttle uses only these methods


class ScopeThrottle(ScopedRateThrottle):
    """Counts requests to the views that name a `throttle_scope`."""

    cache = _RequestHistory()  # type: ignore[assignment] # a throttle uses only these methods
