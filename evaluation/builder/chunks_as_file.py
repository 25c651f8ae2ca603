"""File interface to a stream of chunks."""

from __future__ import annotations

import io
from collections.abc import Iterable


class FileStream(io.RawIOBase):
    """A readable file over `chunks`."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, fewer only at the end; all of them for -1."""
        parts, length = [self._rest], len(self._rest)
        while size < 0 or length < size:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            parts.append(chunk)
            length += len(chunk)
        whole = b"".join(parts)
        end = len(whole) if size < 0 else size
        self._rest = whole[end:]
        return whole[:end]
