"""The body of a bundle in parts, which is written and read as a stream: no more than a part is in memory.

The body is a manifest, one line of JSON that has the number of bytes, the number of lines and the SHA-256 of each part,
and then the parts. A part is a sequence of lines of JSON, each with its columns in binary behind it
(`evaluation.bundle.binary_columns`). All JSON has the form of RFC 8785.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from tempfile import TemporaryFile
from typing import IO, Any

from evaluation.bundle import rfc8785
from evaluation.bundle.binary_columns import Line, packed, unpack
from evaluation.bundle.canonical_json import MOST_LINE_BYTES, decode_line
from evaluation.bundle.checked_fields import Fields
from evaluation.domain.errors import BundleRefusal

FORM = 3
"""The version of this form and of its signature, whatever the lines mean."""

MANIFEST = "parts"
"""The kind of the manifest."""

PART_BYTES = 2_000_000
"""A part ends with the line that reaches this size."""

MOST_PART_BYTES = 16_000_000
"""The largest part, in bytes."""

MOST_PARTS = 1_000
"""The largest number of parts."""

MOST_LINES = 400_000
"""The largest number of lines."""

MOST_TEXT_BYTES = 64_000_000
"""The most bytes of all lines together, without their columns."""

_PART = {"bytes", "lines", "sha256"}


@dataclass(frozen=True)
class Part:
    """A part in the manifest: its size in bytes, its number of lines, and its SHA-256 in hexadecimal."""

    bytes: int
    lines: int
    sha256: str


def write(lines: Iterable[Line], file: IO[bytes]) -> None:
    """Write the body that holds `lines`. Equal lines give equal bytes.

    Raise `ValueError` where no reader would read it.
    """
    with TemporaryFile() as spool:
        parts = list(_write_parts(lines, spool))
        if len(parts) > MOST_PARTS:
            raise ValueError(f"the bundle would have {len(parts):,} parts, but at most {MOST_PARTS:,} can be read")
        listed = [vars(part) for part in parts]
        file.write(rfc8785.canonical({"kind": MANIFEST, "form": FORM, "parts": listed}) + b"\n")
        spool.seek(0)
        shutil.copyfileobj(spool, file, PART_BYTES)


def encode(lines: Iterable[Line]) -> bytes:
    """Return the body that holds `lines`; see `write`."""
    file = BytesIO()
    write(lines, file)
    return file.getvalue()


def is_manifest(line: bytes) -> bool:
    """Return True if a body that begins with `line` is one in parts."""
    return line.startswith(b'{"form":')


def read_manifest(line: bytes) -> list[Part]:
    """Return the parts that a manifest lists. Raise `BundleRefusal`."""
    fields = Fields(0, decode_line(0, line, rfc8785.canonical, rfc8785.read), names={"form", "parts"})
    if fields.text("kind") != MANIFEST or fields.whole("form") != FORM:
        raise fields.refusal(f"its form is not {FORM}, which this program reads")
    listed = [Fields(0, values, names=_PART) for values in fields.mappings("parts")]
    if not 0 < len(listed) <= MOST_PARTS:
        raise fields.refusal(f"the manifest must have 1 to {MOST_PARTS:,} parts")
    parts = [
        Part(each.whole("bytes", 1, MOST_PART_BYTES), each.whole("lines", 1, MOST_LINES), each.text("sha256"))
        for each in listed
    ]
    if sum(part.lines for part in parts) > MOST_LINES:
        raise fields.refusal(f"the bundle has more than {MOST_LINES:,} lines")
    return parts


class PartsBody:
    """The lines of a body in parts, read from an open `file` behind its `manifest`: to be iterated once, to its end.

    Iterating raises `BundleRefusal` for the first part that is not the one in the manifest, and the first malformed
    line. `last` is the number of the last line.
    """

    canonical = staticmethod(rfc8785.canonical)

    def __init__(self, manifest: bytes, file: IO[bytes]) -> None:
        self._parts = read_manifest(manifest)
        self._file = file
        self._digest = sha256(manifest)
        self._text = 0
        self._over = False
        self.last = sum(part.lines for part in self._parts)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        number = 1
        for index, part in enumerate(self._parts, start=1):
            yield from self._lines(number, self._content(number, index, part), part)
            number += part.lines
        if self._file.read(1):
            raise BundleRefusal(self.last, "bytes follow the last part: a part is there twice, or was added")
        self._over = True

    def require_read(self) -> None:
        """Raise `ValueError` if the parts were not read, and so not checked, to the end."""
        if not self._over:
            raise ValueError("the parts were not read to the end")

    @property
    def snapshot(self) -> str:
        """The SHA-256 of the body, in hexadecimal, the snapshot hash. Raise `ValueError` until it is read."""
        self.require_read()
        return self._digest.hexdigest()

    def _content(self, number: int, index: int, part: Part) -> bytes:
        content = self._file.read(part.bytes)
        where = f"part {index} of {len(self._parts)}"
        if len(content) < part.bytes:
            raise BundleRefusal(number, f"the file ends in {where}: it is cut off, or parts are missing")
        if (found := sha256(content).hexdigest()) != part.sha256:
            others = [at for at, other in enumerate(self._parts, start=1) if other.sha256 == found]
            why = f"part {others[0]} is there" if others else "it is damaged, missing, or that of another bundle"
            raise BundleRefusal(number, f"{where} is not the one of the manifest: {why}")
        self._digest.update(content)
        return content

    def _lines(self, first: int, content: bytes, part: Part) -> Iterator[dict[str, Any]]:
        at, view = 0, memoryview(content)
        for number in range(first, first + part.lines):
            end = content.find(b"\n", at, at + MOST_LINE_BYTES) + 1
            if not end:
                raise BundleRefusal(number, f"it does not end in its part, or is longer than {MOST_LINE_BYTES:,} bytes")
            self._text += end - at
            if self._text > MOST_TEXT_BYTES:
                raise BundleRefusal(number, f"the lines up to it have more than {MOST_TEXT_BYTES:,} bytes")
            line = decode_line(number, content[at:end], rfc8785.canonical, rfc8785.read)
            at = end + unpack(number, line, view[end:])
            yield line
        if at < len(content):
            raise BundleRefusal(first + part.lines - 1, f"its part has {len(content) - at:,} bytes after its last line")


def decode(content: bytes) -> list[dict[str, Any]]:
    """Return the lines of a body; see `PartsBody`."""
    file = BytesIO(content)
    return list(PartsBody(file.readline(), file))


def _write_parts(lines: Iterable[Line], file: IO[bytes]) -> Iterator[Part]:
    part, first, text = bytearray(), 1, 0
    number = 0
    for number, line in enumerate(lines, start=1):
        fields, columns = packed(line)
        content = rfc8785.canonical(fields) + b"\n"
        text += len(content)
        part += content + columns
        for found, most, what in (
            (len(part), MOST_PART_BYTES, "bytes in a part"),
            (len(content), MOST_LINE_BYTES, "bytes in a line"),
            (number, MOST_LINES, "lines"),
            (text, MOST_TEXT_BYTES, "bytes in its lines"),
        ):
            if found > most:
                raise ValueError(f"the bundle would have {found:,} {what}, but at most {most:,} can be read")
        if len(part) >= PART_BYTES:
            yield _written(part, number + 1 - first, file)
            part, first = bytearray(), number + 1
    if part:
        yield _written(part, number + 1 - first, file)


def _written(content: bytearray, lines: int, file: IO[bytes]) -> Part:
    file.write(content)
    return Part(len(content), lines, sha256(content).hexdigest())
