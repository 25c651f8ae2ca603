"""Limit on the archives of images that a web process makes at a time: each takes a thread and memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from core.errors import GauntletError

RETRY_SECONDS = 30

AT_A_TIME = max(1, settings.WEB_THREADS // 8)
"""Number of threads of a process that may make archives: the others serve pages and git."""

_free = threading.BoundedSemaphore(AT_A_TIME)


class ArchivesBusyError(GauntletError):
    """No further archive may be made now. The message tells the caller what to do."""


@contextmanager
def making_archive() -> Iterator[None]:
    """Make an archive in the block. Raise `ArchivesBusyError`, without waiting, while `AT_A_TIME` are being made."""
    if not _free.acquire(blocking=False):
        raise ArchivesBusyError("too many archives of images are being made; try again in half a minute")
    try:
        yield
    finally:
        _free.release()
