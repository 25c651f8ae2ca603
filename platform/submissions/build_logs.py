"""Writer of build logs: readable while they grow, and never changed after they were shown."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable
from itertools import groupby

from django.db import transaction

from core import clock
from submissions.models import Build, LogChunk

MAX_LINES = 20_000
MAX_BYTES = 4 << 20
"""Limit of what is kept from the start of a log; nobody reads more."""
LAST_LINES = 200
"""Number of lines that are kept from its end, where a failure is explained."""
MAX_LINE_CHARACTERS = 4000

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# tabs stay; lone surrogates cannot be stored, and the last two break a line in some browsers
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


class LogWriter:
    """The log of one build, numbered from 1 through all its stages.

    `write` is thread-safe, does not block for long and uses little memory, however much is written. The owner calls
    `flush` every half second, and `close` at the end.
    """

    def __init__(self, build: Build, shown: Callable[[str], str] = str) -> None:
        """Apply `shown` to every line before it is stored."""
        self._build = build
        self._shown = shown
        self._stage = LogChunk.Stage.BUILD
        self._waiting: list[tuple[LogChunk.Stage, str]] = []
        self._last: deque[tuple[LogChunk.Stage, str]] = deque(maxlen=LAST_LINES)
        self._next_line = 1
        self._kept_lines = 0
        self._kept_bytes = 0
        self._omitted = 0
        self._lock = threading.Lock()
        self._flushing = threading.Lock()

    def begin(self, stage: LogChunk.Stage) -> None:
        """Assign the following lines to `stage`."""
        with self._lock:
            self._stage = stage

    def write(self, line: str) -> None:
        """Add a line, given without its newline."""
        line = self._shown(line[:MAX_LINE_CHARACTERS])
        with self._lock:
            if self._kept_lines < MAX_LINES and self._kept_bytes < MAX_BYTES:
                text = clean(line)
                self._kept_lines += 1
                self._kept_bytes += len(text.encode()) + 1
                self._waiting.append((self._stage, text))
            else:
                self._omitted += 1
                self._last.append((self._stage, line))

    def flush(self) -> None:
        """Store the waiting lines; discard them if this worker lost the build. Safe to repeat after an error."""
        with self._flushing:
            with self._lock:
                lines, self._waiting = self._waiting, []
            if not lines:
                return
            try:
                self._store(lines)
            except BaseException:
                with self._lock:
                    self._waiting = lines + self._waiting
                raise

    def close(self) -> None:
        """Store the rest; where the log was cut, a note and the last lines."""
        with self._lock:
            left_out = self._omitted - len(self._last)
            if left_out:
                self._waiting.append((self._last[0][0], f"[{left_out:,} lines are omitted here; the last ones follow]"))
            self._waiting += [(stage, clean(line)) for stage, line in self._last]
            self._last.clear()
            self._omitted = 0
        self.flush()

    def _store(self, lines: list[tuple[LogChunk.Stage, str]]) -> None:
        next_line = self._next_line
        with transaction.atomic():
            if not self._build.renew():
                return
            for stage, group in groupby(lines, key=lambda line: line[0]):
                texts = [text for _, text in group]
                LogChunk.objects.create(
                    build=self._build,
                    stage=stage,
                    first_line=next_line,
                    lines=len(texts),
                    text="\n".join(texts),
                    at=clock.now(),
                )
                next_line += len(texts)
        self._next_line = next_line


def clean(line: str) -> str:
    """Return `line` without colours and control characters, which not all databases and browsers accept."""
    return _CONTROL.sub("", _COLOURS.sub("", line))
