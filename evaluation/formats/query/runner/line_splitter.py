"""Splitter of an output stream into lines."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

_MOST_CHARACTERS = 1 << 16
_END = re.compile(r"\r\n|\n|\r(?!\Z)")
"""A carriage return ends a line, too, for progress bars. At the end of a chunk, a newline may still follow it."""


class LineSplitter:
    """Passes each line to `on_line`, without its end; a longer line is split after 64 Ki characters."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""

    def feed(self, chunk: bytes) -> None:
        """Process the next chunk of the output."""
        *lines, self._rest = _END.split(self._rest + self._decode.decode(chunk))
        for line in lines:
            self._on_line(line)
        if len(self._rest) >= _MOST_CHARACTERS:
            self._on_line(self._rest)
            self._rest = ""

    def close(self) -> None:
        """End the output and pass on the rest as a line. Another output may follow."""
        rest = (self._rest + self._decode.decode(b"", final=True)).rstrip("\r")
        self._decode.reset()
        self._rest = ""
        if rest:
            self._on_line(rest)
