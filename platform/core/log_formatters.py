"""Log formatters: one event per line, with the ids of the request or task."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

Id = str | int

_ids: ContextVar[Mapping[str, Id]] = ContextVar("ids", default={})  # noqa: B039 - never changed in place


@contextmanager
def log_ids(**ids: Id) -> Iterator[None]:
    """Add `ids` to every line that this thread logs within the block, together with those of the enclosing blocks."""
    token = _ids.set({**_ids.get(), **ids})
    try:
        yield
    finally:
        _ids.reset(token)


def replace_log_ids(**ids: Id) -> None:
    """Replace the ids of this thread."""
    _ids.set(ids)


def current_log_ids(*, but: str) -> dict[str, Id]:
    """Return the ids of this thread without that of the name `but`."""
    return {name: value for name, value in _ids.get().items() if name != but}


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, process, message, ids, and the traceback where there is one.

    Nothing else: other attributes that libraries attach to a record, such as the request, may contain secrets.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of `record`."""
        line = {
            "time": _time_of(record),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
            **_ids.get(),
        }
        if record.exc_info and record.exc_info[0]:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """One line for people: time, level, logger, message and ids, followed by the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of `record`."""
        # a message may quote names that users choose: none of them may start a new line
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        ids = "".join(f" {name}={value}" for name, value in _ids.get().items())
        line = f"{_time_of(record)} {record.levelname} {record.name}: {message}{ids}"
        if record.exc_info and record.exc_info[0]:
            line += f"\n{self.formatException(record.exc_info)}"
        return line


class UncaughtErrors(logging.Filter):
    """Keeps only uncaught exceptions of Django's request log, and names the route instead of the path.

    A path may contain a secret, such as the key of a password reset.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether `record` is an uncaught exception."""
        if not record.exc_info:
            return False
        match = getattr(getattr(record, "request", None), "resolver_match", None)
        record.msg, record.args = "uncaught exception in %s", (f"/{match.route}" if match else "an unknown address",)
        return True


def _time_of(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
