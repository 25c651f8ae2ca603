"""The canonical form of bundles of lines: one JSON object on each line, with exactly one way to write it.

Rounds frozen by earlier versions have such bundles, and those of the curves format; others are in parts
(`evaluation.bundle.body_in_parts`).

Keys are sorted, there are no spaces between tokens, text is UTF-8 without escapes that JSON does not require, numbers
have Python's shortest form that reads back as the same number, NaN and infinity are forbidden, and every line ends with
a line feed. Equal values have equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeAlias

from evaluation.domain.errors import BundleRefusal, Refusal

Line: TypeAlias = Mapping[str, Any]

Canonical: TypeAlias = Callable[[Any], bytes]
"""A function that returns the canonical bytes of a value."""

MOST_BYTES = 64_000_000
"""The largest bundle, in bytes: ten times the size of a round of 100 against 100."""

MOST_LINE_BYTES = 4_000_000
"""The longest line, in bytes: reading a line takes about thirty times its length of memory."""

MOST_LINES = 59_000
"""The largest number of lines: the signature holds 67 bytes for each of them in one line."""

MOST_SAMPLES = 10_000
"""The largest number of samples in a bundle."""

FORM = 2
"""The version of this form and of its signature, whatever the lines mean."""

_SIGNATURE_BYTES = (67, 40_000)
"""The size of the signature for each line before it, and its fixed part: it names earlier keys."""

_MOST_DEPTH = 12
"""The deepest nesting of values, so that no reader runs out of stack."""


def canonical(value: Any) -> bytes:
    """Return the canonical bytes of `value`. Raise `ValueError` for NaN, infinity and text that is not Unicode."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def read(content: bytes) -> Any:
    """Return the value of JSON in UTF-8. Raise `ValueError` and `RecursionError`."""
    return json.loads(content.decode())


def encode(lines: Iterable[Line]) -> bytes:
    """Return one canonical line for each of `lines`."""
    return b"".join(canonical(line) + b"\n" for line in lines)


def commitment_of(hashes: Sequence[str]) -> str:
    """Return the commitment to a sample list: the SHA-256, in hexadecimal, of the canonical JSON list of its hashes."""
    return sha256(canonical(list(hashes))).hexdigest()


def check_readable(content: bytes) -> None:
    """Raise `ValueError` if a bundle with the body `content` could not be read once it is signed."""
    lines, longest = content.count(b"\n"), max(map(len, content.split(b"\n"))) + 1
    per_line, fixed = _SIGNATURE_BYTES
    size = len(content) + lines * per_line + fixed
    for found, most, what in (
        (lines + 1, MOST_LINES, "lines"),
        (longest, MOST_LINE_BYTES, "bytes in a line"),
        (size, MOST_BYTES, "bytes"),
    ):
        if found > most:
            raise ValueError(f"the bundle would have {found:,} {what}, but at most {most:,} can be read")


def split(content: bytes) -> list[bytes]:
    """Return the lines of `content`, each with its line end. Raise `Refusal` if it is too large, empty or cut off."""
    if len(content) > MOST_BYTES:
        raise Refusal(f"the file is larger than {MOST_BYTES:,} bytes, the limit for a bundle")
    if content.count(b"\n") > MOST_LINES:
        raise Refusal(f"the file has more than {MOST_LINES:,} lines, the limit for a bundle")
    if not content:
        raise Refusal("the file is empty", fix="download it again")
    lines = content.split(b"\n")
    if lines.pop():
        raise BundleRefusal(len(lines) + 1, "the last line does not end: the file is cut off")
    return [line + b"\n" for line in lines]


def decode_line(
    number: int, line: bytes, form: Canonical = canonical, load: Callable[[bytes], Any] = read
) -> dict[str, Any]:
    """Return line `number`, from 1; raise `BundleRefusal` with its error.

    `form` and `load` write and read its canonical form.
    """
    if len(line) > MOST_LINE_BYTES:
        raise BundleRefusal(number, f"it is longer than {MOST_LINE_BYTES:,} bytes")
    try:
        value = load(line)
        _measure(value, _MOST_DEPTH)
        again = form(value) + b"\n"
    except UnicodeDecodeError:
        raise BundleRefusal(number, "it is not UTF-8") from None
    except RecursionError:
        raise BundleRefusal(number, "its values are nested too deeply") from None
    except ValueError as error:
        raise BundleRefusal(number, f"it is not valid JSON of a bundle: {error}") from None
    if again != line:
        raise BundleRefusal(number, "it is not in canonical form")
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise BundleRefusal(number, "it is not an object with a kind")
    return value


def _measure(value: Any, left: int) -> None:
    if not isinstance(value, dict | list):
        return
    if not left:
        raise RecursionError
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            _measure(inner, left - 1)
