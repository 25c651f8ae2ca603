"""Check of the layers of a build, which a build may have written itself: what an engine would unpack.

An engine unpacks layers without limits. It also decompresses them, and expands sparse files, so that some kilobytes
fill its disk. Archives are read here as strictly as possible: readers differ in what they make of unusual headers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import IO

_BLOCK = 512
_MAX_HEADER_BYTES = 1 << 20
"""Limit on the extended header of one file: its names and attributes."""

_SIZE = re.compile(rb"[0-7]{11}[ \0]")
_CHECKSUM = re.compile(rb"[0-7]{6}(?:\0 | \0|[0-7]\0)")
_MAGICS = (b"ustar\x0000", b"ustar  \0")
_FILE, _EXTENDED, _LONG_NAMES = b"0", b"x", (b"L", b"K")
_WITHOUT_CONTENT = {
    b"1": "hard link", b"2": "symbolic link", b"3": "device", b"4": "device", b"5": "directory", b"6": "FIFO",
}  # fmt: skip
"""Devices are in the layers of usual images; players are not allowed to open them."""
_SPARSE = b"GNU.sparse."
_OVERLAY = b"SCHILY.xattr.trusted."
"""Attributes by which overlay file systems redirect and hide directories."""


@dataclass(frozen=True)
class DiskSpace:
    """A number of files and of bytes, used or free."""

    files: int = 0
    bytes: int = 0

    def covers(self, needed: DiskSpace) -> bool:
        """Return True if neither the files nor the bytes `needed` are more than these."""
        return needed.files <= self.files and needed.bytes <= self.bytes


def unpacked(layer: IO[bytes], *, most: DiskSpace) -> DiskSpace:
    """Return what an engine unpacks of the archive `layer`; counting ends at the first file beyond `most`.

    Raise `ValueError` for anything but a plain tar archive of the usual entries.
    """
    files = size_of_all = 0
    while True:
        header = layer.read(_BLOCK)
        if not any(header):
            if any(layer.read(_BLOCK)):
                raise ValueError("it goes on after its end")
            return DiskSpace(files, size_of_all)
        kind, size = _read_header(header)
        if kind == _EXTENDED or kind in _LONG_NAMES:
            if size > _MAX_HEADER_BYTES:
                raise ValueError(f"an extended header is larger than {_MAX_HEADER_BYTES >> 10} KiB")
            content = layer.read(_padded(size))[:size]
            if kind == _EXTENDED:
                _check_records(content)
            continue
        files += 1
        size_of_all += size
        if not most.covers(counted := DiskSpace(files, size_of_all)):
            return counted
        layer.seek(_padded(size), 1)


def _read_header(header: bytes) -> tuple[bytes, int]:
    """Return the type and the size of a member."""
    if len(header) < _BLOCK or header[257:265] not in _MAGICS:
        raise ValueError("it is not a plain tar archive")
    checksum = header[148:156]
    if not _CHECKSUM.fullmatch(checksum) or int(checksum.strip(b"\0 "), 8) != sum(header) - sum(checksum) + 8 * 32:
        raise ValueError("a header has a wrong checksum")
    kind, size = header[156:157], header[124:136]
    if not _SIZE.fullmatch(size):
        raise ValueError("the size of a file is not readable, or above 8 GiB")
    length = int(size[:11], 8)
    if kind in _WITHOUT_CONTENT:
        if length:
            raise ValueError(f"a {_WITHOUT_CONTENT[kind]} has content")
    elif kind not in (_FILE, _EXTENDED, *_LONG_NAMES):
        raise ValueError(f"it holds a sparse file or another unusual entry (type {kind!a})")
    return kind, length


def _check_records(content: bytes) -> None:
    """Check the records `length key=value` of an extended header."""
    at = 0
    while at < len(content):
        digits, space, _ = content[at : at + 8].partition(b" ")
        if not space or not digits.isdigit() or (end := at + int(digits)) > len(content) or end <= at + len(digits):
            raise ValueError("an extended header is not readable")
        key, equals, _ = content[at + len(digits) + 1 : end].partition(b"=")
        if not equals or content[end - 1 : end] != b"\n":
            raise ValueError("an extended header is not readable")
        if key == b"size" or key.startswith((_SPARSE, _OVERLAY)):
            raise ValueError(f"an extended header sets {key.decode(errors='replace')[:80]}")
        at = end


def _padded(size: int) -> int:
    return size + -size % _BLOCK
