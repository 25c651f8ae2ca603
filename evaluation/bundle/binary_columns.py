"""Columns of a line of a bundle in parts: many values of one type, in binary behind the line.

A line with columns lists them under `columns`, sorted by name, each as [name, type, number of values]. Their bytes
follow behind its line feed, in this order, without anything between them; numbers are little-endian.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.errors import BundleRefusal

Line: TypeAlias = Mapping[str, Any]
"""The fields of a line; those that are arrays are its columns."""

COLUMNS = "columns"
"""The field that lists them."""

HASH = "sha256"
"""The type of SHA-256 hashes, 32 bytes each."""

TYPES: Mapping[str, np.dtype[Any]] = {
    "u1": np.dtype("<u1"),
    "i2": np.dtype("<i2"),
    "u4": np.dtype("<u4"),
    "f8": np.dtype("<f8"),
    HASH: np.dtype(("<u1", 32)),
}
"""The types: integers without and with a sign, by their bytes, doubles, and hashes."""

_MOST_COLUMNS = 16


def hashes(texts: Iterable[str]) -> NDArray[np.uint8]:
    """Return a column of hashes from their hexadecimal digits; zeros for an empty text."""
    return np.frombuffer(b"".join(bytes.fromhex(text) or bytes(32) for text in texts), np.uint8).reshape(-1, 32)


def hash_texts(column: NDArray[np.uint8]) -> tuple[str, ...]:
    """Return the hashes of a column in hexadecimal, an empty text for zeros."""
    content, nothing = column.tobytes(), bytes(32)
    rows = (content[start : start + 32] for start in range(0, len(content), 32))
    return tuple("" if row == nothing else row.hex() for row in rows)


def packed(line: Line) -> tuple[dict[str, Any], bytes]:
    """Return the fields of a line as JSON values, and the bytes of its columns.

    Raise `ValueError` for a column of another type.
    """
    columns = {name: value for name, value in sorted(line.items()) if isinstance(value, np.ndarray)}
    fields = {name: value for name, value in line.items() if name not in columns}
    if columns:
        fields[COLUMNS] = [[name, _type_of(column), len(column)] for name, column in columns.items()]
    return fields, b"".join(column.tobytes() for column in columns.values())


def unpack(number: int, fields: dict[str, Any], content: memoryview) -> int:
    """Replace the list of columns in the `fields` of line `number` by the arrays at the start of `content`.

    Return how many bytes they take. Nothing is allocated for a column that is longer than `content`. Raise
    `BundleRefusal`.
    """
    if COLUMNS not in fields:
        return 0
    end = 0
    for name, kind, count in _listed(number, fields.pop(COLUMNS)):
        if name in fields:
            raise BundleRefusal(number, f"its column {name[:40]!r} is also a field or out of order")
        size = TYPES[kind].itemsize * count
        if size > len(content) - end:
            needs = f"its column {name[:40]!r} of {count:,} values needs {size:,} bytes"
            raise BundleRefusal(number, f"{needs}, but its part has only {len(content) - end:,} left")
        fields[name] = np.frombuffer(content, TYPES[kind], count, end) if count else np.empty(0, TYPES[kind])
        end += size
    return end


def is_column(value: Any) -> bool:
    """Return True for the values of a column."""
    return isinstance(value, np.ndarray)


def require_none(number: int, line: Line) -> None:
    """Raise `BundleRefusal` if line `number` has columns."""
    if columns := [name for name, value in line.items() if is_column(value)]:
        raise BundleRefusal(number, f"lines of its kind have no columns, but it has {columns[0][:40]!r}")


def is_of(value: Any, kind: str) -> bool:
    """Return True for a column of the type `kind`."""
    return isinstance(value, np.ndarray) and _type_of(value) == kind


def _type_of(column: NDArray[Any]) -> str:
    for kind, dtype in TYPES.items():
        if column.dtype == dtype.base and column.shape[1:] == dtype.shape:
            return kind
    raise ValueError(f"a column cannot hold {column.dtype} of the shape {column.shape}")


def _listed(number: int, columns: Any) -> Iterator[tuple[str, str, int]]:
    if not isinstance(columns, list) or not 0 < len(columns) <= _MOST_COLUMNS:
        raise BundleRefusal(number, f"columns must be a list of 1 to {_MOST_COLUMNS}")
    before = ""
    for each in columns:
        if not isinstance(each, list) or [type(part) for part in each] != [str, str, int] or each[2] < 0:
            raise BundleRefusal(number, "a column must be its name, its type and the number of its values")
        name, kind, count = each
        if name <= before:
            raise BundleRefusal(number, "its columns are not sorted by name")
        if kind not in TYPES:
            raise BundleRefusal(number, f"the type of a column must be one of {', '.join(TYPES)}")
        before = name
        yield name, kind, count
