"""Bodies of bundles in memory, and their lines."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from evaluation.bundle.body_in_parts import PartsBody, is_manifest
from evaluation.bundle.canonical_json import decode_line, split
from evaluation.bundle.signature_check import BundleBody, LinesBody
from evaluation.formats.query.bundle.writer import Record
from evaluation.formats.query.bundle.writer import write_body as write_query_body
from evaluation.formats.transfer.bundle.writer import TransferRecord
from evaluation.formats.transfer.bundle.writer import write_body as write_transfer_body


def body(record: Record | TransferRecord) -> bytes:
    """Return all lines of a finished round, without the signature."""
    file = BytesIO()
    if isinstance(record, Record):
        write_query_body(record, file)
    else:
        write_transfer_body(record, file)
    return file.getvalue()


def body_of(content: bytes) -> BundleBody:
    """Return the lines of a body without a signature. Raise `Refusal`."""
    first, _, _ = content.partition(b"\n")
    if not is_manifest(first):
        return LinesBody(split(content))
    file = BytesIO(content)
    return PartsBody(file.readline(), file)


def decode(content: bytes) -> Iterator[dict[str, Any]]:
    """Yield the lines of a body of lines. Raise `BundleRefusal` for the first that is malformed."""
    for number, line in enumerate(split(content), start=1):
        yield decode_line(number, line)
