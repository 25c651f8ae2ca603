"""Minimum transfer rate of git clients, and the watchdog that cuts slow ones off."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from django.conf import settings

CHECK_SECONDS = 0.25


class ClientTimeLimit:
    """Waiting time left to a client, in seconds. Pure: waiting uses it up, and each byte earns a little back.

    Never more than `most` seconds, so a client that was fast at first cannot be slow for long afterwards.
    """

    def __init__(self, least_rate: float, most: float) -> None:
        self._least_rate, self._most = least_rate, most
        self.left = most

    def waited(self, seconds: float, moved: int) -> None:
        """Count `seconds` of waiting for `moved` bytes."""
        self.left = min(self._most, self.left - seconds + moved / self._least_rate)


class StallWatchdog:
    """Calls `cut_off` with the reason when a client is too slow or the exchange takes too long.

    Only the time between `wait_begins` and `wait_ends` counts. Runs one thread until `close`.
    """

    def __init__(self, cut_off: Callable[[str], None]) -> None:
        self._cut_off = cut_off
        self._pace = ClientTimeLimit(settings.MIN_BYTES_PER_SECOND, settings.MAX_SLOW_SECONDS)
        self.until = time.monotonic() + settings.MAX_EXCHANGE_SECONDS
        self._waits_since: float | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="git client watchdog", daemon=True)
        self._thread.start()

    def wait_begins(self) -> None:
        """Start to count waiting time."""
        self._waits_since = time.monotonic()

    def wait_ends(self, moved: int) -> None:
        """Stop to count waiting time: the client sent or received `moved` bytes."""
        if self._waits_since is not None:
            self._pace.waited(time.monotonic() - self._waits_since, moved)
            self._waits_since = None

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(CHECK_SECONDS):
            now, since = time.monotonic(), self._waits_since
            if now > self.until:
                self._cut_off(f"the exchange took more than {settings.MAX_EXCHANGE_SECONDS} s")
                return
            if since is not None and now - since > self._pace.left:
                self._cut_off(f"the client is slower than {settings.MIN_BYTES_PER_SECOND:,} bytes per second")
                return
