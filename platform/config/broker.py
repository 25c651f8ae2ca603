"""Celery's broker in a folder, in which a message is seen once it is written whole.

Kombu's own makes the file first and writes then: on a busy host another process reads it empty in between, and its
worker ends with an error.
"""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

from kombu.transport import filesystem
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    """Puts messages under their names by renaming."""

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        path = Path(self.data_folder_out) / f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        begun = path.with_name(f"{path.name}.part")
        begun.write_text(dumps(payload), encoding="utf-8")  # type: ignore[no-untyped-call]
        begun.rename(path)


class Transport(filesystem.Transport):
    """Kombu's, with that channel."""

    Channel = Channel
