"""Lines of an output that comes in pieces."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

_MOST_CHARACTERS = 1 << 16
_END = re.compile(r"\r\n|\n|\r(?!\Z)")
"""A carriage return ends a line, too: progress bars write nothing else. At the very end a newline may follow it."""


class LineSplitter:
    """Passes each whole line to `on_line`, without its end; a line without one comes in pieces of 64 Ki characters."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""

    def feed(self, chunk: bytes) -> None:
        """Take the next piece of the output."""
        *lines, self._rest = _END.split(self._rest + self._decode.decode(chunk))
        for line in lines:
            self._on_line(line)
        if len(self._rest) >= _MOST_CHARACTERS:
            self._on_line(self._rest)
            self._rest = ""

    def close(self) -> None:
        """The output is over: what is left is a line, too. Another output may follow."""
        rest = (self._rest + self._decode.decode(b"", final=True)).rstrip("\r")
        self._decode.reset()
        self._rest = ""
        if rest:
            self._on_line(rest)
