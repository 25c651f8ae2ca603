"""Celery's file-system broker with atomic writes.

Kombu's own transport creates a file before it writes it: of a message, and of the table of an exchange's queues. On a
busy host another process may read the empty file, and its worker then fails.
"""

from __future__ import annotations

import fcntl
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kombu.transport import filesystem
from kombu.utils.json import dumps


class AtomicChannel(filesystem.Channel):
    """Channel that writes each message to a temporary file and renames it, and locks the tables of the exchanges."""

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        path = Path(self.data_folder_out) / f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        partial = path.with_name(f"{path.name}.part")
        partial.write_text(dumps(payload), encoding="utf-8")  # type: ignore[no-untyped-call]
        partial.rename(path)

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        with self._locked_table(exchange):
            super()._queue_bind(exchange, routing_key, pattern, queue)  # type: ignore[no-untyped-call]

    def get_table(self, exchange: str) -> Any:
        """Return the queues that are bound to `exchange`."""
        with self._locked_table(exchange):
            return super().get_table(exchange)  # type: ignore[no-untyped-call]

    @contextmanager
    def _locked_table(self, exchange: str) -> Iterator[None]:
        """Hold the lock of the tables; remove an empty one, of a process that was killed while it made it."""
        self.control_folder.mkdir(parents=True, exist_ok=True)
        with (self.control_folder / "tables.lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            table: Path = self._exchange_file(exchange)  # type: ignore[no-untyped-call]
            if table.exists() and not table.stat().st_size:
                table.unlink()
            yield


class Transport(filesystem.Transport):
    """Kombu's file-system transport with this channel."""

    Channel = AtomicChannel
