"""The form of the log: one event a line, with the ids of the request or the work at hand."""

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
    """Add `ids` to every line that this thread logs within the block, beside those of the blocks around it."""
    token = _ids.set({**_ids.get(), **ids})
    try:
        yield
    finally:
        _ids.reset(token)


def replace_log_ids(**ids: Id) -> None:
    """Log with `ids` alone in this thread from now on."""
    _ids.set(ids)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, process, message, ids, and the traceback where there is one.

    Only these: what else a library attaches to a record, such as a whole request, may hold secrets.
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
    """One line for people: time, level, logger, message and ids; a traceback follows on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of `record`."""
        # a message may quote names that people choose: none of them begins a line of its own
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        ids = "".join(f" {name}={value}" for name, value in _ids.get().items())
        line = f"{_time_of(record)} {record.levelname} {record.name}: {message}{ids}"
        if record.exc_info and record.exc_info[0]:
            line += f"\n{self.formatException(record.exc_info)}"
        return line


class UncaughtErrors(logging.Filter):
    """Of what Django logs of answers, keeps the exceptions that no view caught, and names the route and not the path.

    A path may hold a secret, such as the key of a link that resets a password.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether `record` is one of them."""
        if not record.exc_info:
            return False
        match = getattr(getattr(record, "request", None), "resolver_match", None)
        record.msg, record.args = "uncaught exception in %s", (f"/{match.route}" if match else "an unknown address",)
        return True


def _time_of(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
