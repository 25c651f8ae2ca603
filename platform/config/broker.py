"""Celery's file-system broker with atomic writes.

Kombu's own transport creates the file before it writes it. On a busy host another process may read the empty file, and
its worker then fails.
"""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

from kombu.transport import filesystem
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    """Channel that writes each message to a temporary file and renames it."""

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        path = Path(self.data_folder_out) / f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        partial = path.with_name(f"{path.name}.part")
        partial.write_text(dumps(payload), encoding="utf-8")  # type: ignore[no-untyped-call]
        partial.rename(path)


class Transport(filesystem.Transport):
    """Kombu's file-system transport with this channel."""

    Channel = Channel
