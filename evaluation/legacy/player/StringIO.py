"""A file in memory under its name in Python 2, where text was bytes: programs keep images in it."""

from __future__ import annotations

import io
from typing import Any

_ENCODING = "utf-8"


class StringIO(io.BytesIO):
    """Takes text and bytes, and gives back text if text is all that it has."""

    def __init__(self, initial: Any = "") -> None:
        super().__init__(_bytes(initial))
        self._text = isinstance(initial, str) and bool(initial)

    def write(self, content: Any) -> int:
        self._text = isinstance(content, str) and (self._text or not self.getbuffer().nbytes)
        return super().write(_bytes(content))

    def read(self, size: Any = -1) -> Any:
        return self._given(super().read(size))

    def readline(self, size: Any = -1) -> Any:
        return self._given(super().readline(size))

    def getvalue(self) -> Any:
        return self._given(super().getvalue())

    def _given(self, content: bytes) -> Any:
        return content.decode(_ENCODING) if self._text else content


def _bytes(content: Any) -> Any:
    return content.encode(_ENCODING) if isinstance(content, str) else content
