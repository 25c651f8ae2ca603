"""The canonical form of JSON of RFC 8785 (JSON Canonicalization Scheme), that of bundles in parts.

Keys are sorted by their UTF-16 code units, there are no spaces, text is UTF-8 without escapes that JSON does not
require, and numbers are written as ECMAScript writes a double: 1.0 and 1 are both `1`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from json.encoder import encode_basestring
from math import isfinite
from typing import Any

MOST_EXACT = 2**53 - 1
"""The largest whole number that every reader of JSON keeps exactly; larger ones are written as text."""

_MOST_DIGITS = 21
"""ECMAScript writes larger numbers with an exponent."""

_MOST_ZEROS = 6
"""ECMAScript writes smaller fractions, with more zeros behind the point, with an exponent."""


def canonical(value: Any) -> bytes:
    """Return the canonical bytes of `value`.

    Raise `ValueError` for NaN, infinity, whole numbers that a double does not hold exactly, and text that is not
    Unicode, and `TypeError` for what is not JSON.
    """
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts).encode()


def read(content: bytes) -> Any:
    """Return the value of JSON in UTF-8: whole numbers as `int` where a double holds them exactly, else as `float`.

    Raise `ValueError` and `RecursionError`.
    """
    return json.loads(content.decode(), parse_int=_whole)


def _whole(text: str) -> int | float:
    value = int(text)
    return value if abs(value) <= MOST_EXACT else float(text)


def _write(value: Any, parts: list[str]) -> None:
    if isinstance(value, str):
        parts.append(encode_basestring(value))
    elif value is None or isinstance(value, bool):
        parts.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, int):
        if abs(value) > MOST_EXACT:
            raise ValueError(f"{value} is beyond {MOST_EXACT}: write it as text")
        parts.append(str(int(value)))
    elif isinstance(value, float):
        parts.append(_number(value))
    elif isinstance(value, Mapping):
        _join("{", "}", value, parts, of=sorted(value, key=_utf16))
    elif isinstance(value, list | tuple):
        _join("[", "]", value, parts)
    else:
        raise TypeError(f"{type(value).__name__} is not JSON")


def _join(first: str, last: str, values: Any, parts: list[str], of: list[str] | None = None) -> None:
    parts.append(first)
    for index, each in enumerate(values if of is None else of):
        if index:
            parts.append(",")
        if of is not None:
            parts.append(f"{encode_basestring(each)}:")
        _write(each if of is None else values[each], parts)
    parts.append(last)


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be")


def _number(value: float) -> str:
    """Return the shortest digits that read back as the same double, with the point where ECMAScript puts it."""
    if not isfinite(value):
        raise ValueError(f"{value} is not a number of JSON")
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{value!r}".lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).rstrip("0")
    # the point stands behind so many of the digits, counted from the first that is not 0
    point = len(whole) + int(exponent or 0) - (len(digits) - len(digits.lstrip("0")))
    digits = digits.lstrip("0")
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= _MOST_DIGITS:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= _MOST_DIGITS:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -_MOST_ZEROS < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if digits[1:] else ""
    return f"{sign}{digits[0]}{tail}e{point - 1:+d}"
