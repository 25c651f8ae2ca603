"""Buffer of the last bytes of a long output."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

_CHUNK = 1 << 16


class LogTail:
    """Reads a pipe to its end in a thread and keeps its last `limit` bytes; memory stays below 2 `limit` + 64 KiB."""

    def __init__(self, descriptor: int, limit: int) -> None:
        """Take over `descriptor`, the reading end of a pipe: the thread closes it."""
        self._descriptor = descriptor
        self._limit = limit
        self._kept = bytearray()
        self._follower: Callable[[bytes], None] | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._read, name="player log", daemon=True)
        self._thread.start()

    def follow(self, on_output: Callable[[bytes], None]) -> None:
        """Pass the kept bytes to `on_output` now, and later all that the thread reads."""
        with self._lock:
            on_output(bytes(self._kept))
            self._follower = on_output

    def text(self, *, patience: float) -> str:
        """Return the kept text once the writers are gone or `patience` seconds have passed; replace invalid UTF-8."""
        self._thread.join(patience)
        kept = bytes(self._kept)
        return kept[max(0, len(kept) - self._limit) :].decode("utf-8", errors="replace")

    def _read(self) -> None:
        try:
            while chunk := os.read(self._descriptor, _CHUNK):
                with self._lock:
                    self._kept += chunk
                    if len(self._kept) > 2 * self._limit:
                        del self._kept[: len(self._kept) - self._limit]
                    if self._follower is not None:
                        self._follower(chunk)
        finally:
            os.close(self._descriptor)
