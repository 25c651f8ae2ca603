"""The last bytes of an endless output."""

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
        self._turn = threading.Lock()
        self._thread = threading.Thread(target=self._read, name="player log", daemon=True)
        self._thread.start()

    def follow(self, on_output: Callable[[bytes], None]) -> None:
        """Pass what is kept to `on_output`, now, and all that is read later, from the thread."""
        with self._turn:
            on_output(bytes(self._kept))
            self._follower = on_output

    def text(self, *, patience: float) -> str:
        """What is kept, once the writers are gone or `patience` seconds are over; what is no UTF-8 is replaced."""
        self._thread.join(patience)
        kept = bytes(self._kept)
        return kept[max(0, len(kept) - self._limit) :].decode("utf-8", errors="replace")

    def _read(self) -> None:
        try:
            while chunk := os.read(self._descriptor, _CHUNK):
                with self._turn:
                    self._kept += chunk
                    if len(self._kept) > 2 * self._limit:
                        del self._kept[: len(self._kept) - self._limit]
                    if self._follower is not None:
                        self._follower(chunk)
        finally:
            os.close(self._descriptor)
