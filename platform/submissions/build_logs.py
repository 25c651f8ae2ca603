"""Write the log of a build, so that it can be read while it grows and nothing that was shown is ever lost."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable
from itertools import groupby

from django.db import transaction

from core import clock
from submissions import build_queue
from submissions.models import Build, LogChunk

MAX_LINES = 20_000
MAX_BYTES = 4 << 20
"""How much of a log is kept from its start; a build that prints more than this is not read by anybody."""
LAST_LINES = 200
"""How much is kept from its end, where the reason of a failure stands."""
MAX_LINE_CHARACTERS = 4000

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# tabs stay; lone surrogates cannot be stored, and the last two would break a line in some browsers
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


class LogWriter:
    """The log of one build, numbered from 1 through all its stages.

    `write` may be called from any thread, never blocks for long and keeps little in memory, however much is written.
    Whoever made the writer calls `flush` every half second, and `close` at the end.
    """

    def __init__(self, build: Build, shown: Callable[[str], str] = str) -> None:
        """shown: what a line becomes before anybody reads it."""
        self._build = build
        self._shown = shown
        self._stage = LogChunk.Stage.BUILD
        self._waiting: list[tuple[LogChunk.Stage, str]] = []
        self._last: deque[tuple[LogChunk.Stage, str]] = deque(maxlen=LAST_LINES)
        self._next_line = 1
        self._kept_lines = 0
        self._kept_bytes = 0
        self._beyond = 0
        self._turn = threading.Lock()
        self._flushing = threading.Lock()

    def begin(self, stage: LogChunk.Stage) -> None:
        """What follows belongs to `stage`."""
        with self._turn:
            self._stage = stage

    def write(self, line: str) -> None:
        """Add a line, given without its newline."""
        line = self._shown(line[:MAX_LINE_CHARACTERS])
        with self._turn:
            if self._kept_lines < MAX_LINES and self._kept_bytes < MAX_BYTES:
                text = clean(line)
                self._kept_lines += 1
                self._kept_bytes += len(text.encode()) + 1
                self._waiting.append((self._stage, text))
            else:
                self._beyond += 1
                self._last.append((self._stage, line))

    def flush(self) -> None:
        """Store what waits; dropped where this worker no longer holds the build. Safe to repeat after an error."""
        with self._flushing:
            with self._turn:
                lines, self._waiting = self._waiting, []
            if not lines:
                return
            try:
                self._store(lines)
            except BaseException:
                with self._turn:
                    self._waiting = lines + self._waiting
                raise

    def close(self) -> None:
        """Store the rest: where the log was cut, a note and the last lines."""
        with self._turn:
            left_out = self._beyond - len(self._last)
            if left_out:
                self._waiting.append(
                    (self._last[0][0], f"[{left_out:,} lines are left out here; the last ones follow]")
                )
            self._waiting += [(stage, clean(line)) for stage, line in self._last]
            self._last.clear()
            self._beyond = 0
        self.flush()

    def _store(self, lines: list[tuple[LogChunk.Stage, str]]) -> None:
        next_line = self._next_line
        with transaction.atomic():
            if not build_queue.hold(self._build):
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
    """`line` without colours and control characters, which databases and browsers cannot all take."""
    return _CONTROL.sub("", _COLOURS.sub("", line))
