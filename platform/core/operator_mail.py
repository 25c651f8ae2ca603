"""E-mail errors to the operators (`GAUNTLET_ADMINS`), rate-limited per kind of message."""

from __future__ import annotations

import logging
import time
from hashlib import sha256

from django.conf import settings
from django.core.cache import cache
from django.core.mail import mail_admins

from core.time_format import duration

PAUSE_SECONDS = 600
"""Time after an e-mail in which messages of the same kind are only logged, on all hosts together."""

_LONGEST_SUBJECT = 120

log = logging.getLogger(__name__)


class OperatorMail(logging.Handler):
    """Sends each record to `ADMINS`, at most one in `PAUSE_SECONDS` of those with one message and kind of exception.

    An e-mail that cannot be sent is logged as a warning.
    """

    def __init__(self) -> None:
        super().__init__()
        self._paused: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Send `record`, unless one of the same kind was sent recently."""
        try:
            if not settings.ADMINS or not self._is_due(_kind_of(record)):
                return
            # a line break in a header would be refused, and the error with it
            first = next(iter(record.getMessage().splitlines()), "")[:_LONGEST_SUBJECT]
            subject = f"{record.levelname} on {settings.WORKER_NAME}: {first}"
            note = f"For {duration(PAUSE_SECONDS)} further messages of this kind are only in the log."
            mail_admins(subject, f"{self.format(record)}\n\n{note}\n")
        except Exception:  # any error: the work that reported it continues
            log.warning("an error could not be mailed to the operators", exc_info=True)

    def _is_due(self, kind: str) -> bool:
        try:
            return bool(cache.add(f"operator-mail-{kind}", 1, PAUSE_SECONDS))
        except Exception:  # the cache may be what failed: each process then counts by itself
            now = time.monotonic()
            if now < self._paused.get(kind, now):
                return False
            self._paused[kind] = now + PAUSE_SECONDS
            return True


def _kind_of(record: logging.LogRecord) -> str:
    """Return the kind of `record`: its logger, its message before formatting, and the class of its exception."""
    error = record.exc_info[0].__qualname__ if record.exc_info and record.exc_info[0] else ""
    return sha256(f"{record.name}\n{record.msg}\n{error}".encode()).hexdigest()
