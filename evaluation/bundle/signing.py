"""The signature of a result bundle: Ed25519 over the hashes of its parts, or of its lines.

A bundle in parts begins with its signature, the line {"chain":[...], "key":..., "key_id":..., "kind":"signature",
"signature":...} in the form of RFC 8785; the body follows. The signed bytes are `gauntlet-bundle-3`, a line feed, and
the manifest of the body without its line feed.

A bundle of lines, as rounds frozen by earlier versions have, ends with its signature, the same line with `lines`: the
SHA-256, in hexadecimal, of each line before it, its line feed included, in order. The signed bytes are
`gauntlet-bundle-2`, a line feed, and the canonical form of that list alone, without a line feed.

`key` and `signature` are in hexadecimal. `chain` holds the statements by which earlier keys led to `key`
(`evaluation.bundle.key_succession`), the oldest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from io import BytesIO
from shutil import copyfileobj
from typing import IO, Any

from nacl.signing import SigningKey

from evaluation.bundle import body_in_parts, rfc8785
from evaluation.bundle.canonical_json import FORM, MOST_LINE_BYTES, canonical, encode, split
from evaluation.bundle.key_succession import Succession, as_line, key_id, public_key

SIGNATURE = "signature"
"""The kind of the line that signs."""

_OF_LINES, _OF_PARTS = f"gauntlet-bundle-{FORM}\n".encode(), f"gauntlet-bundle-{body_in_parts.FORM}\n".encode()


def sign_file(body: IO[bytes], file: IO[bytes], seed: bytes, chain: Sequence[Succession] = ()) -> None:
    """Write a body and the line that signs it with the secret `seed` of 32 bytes; equal input gives equal bytes.

    `chain` leads from earlier published keys to this key. A body in parts is copied as a stream.
    """
    first = body.readline(MOST_LINE_BYTES)
    if body_in_parts.is_manifest(first):
        file.write(rfc8785.canonical(_signature(message_of_parts(first), seed, chain)) + b"\n" + first)
        copyfileobj(body, file)
    else:
        content = first + body.read()
        hashes = line_hashes(split(content))
        file.write(content + encode([_signature(message_of_lines(hashes), seed, chain) | {"lines": hashes}]))


def sign(body: bytes, seed: bytes, chain: Sequence[Succession] = ()) -> bytes:
    """Return a small `body` with the line that signs it; see `sign_file`."""
    file = BytesIO()
    sign_file(BytesIO(body), file, seed, chain)
    return file.getvalue()


def begins_with_signature(line: bytes) -> bool:
    """Return True if the bundle that begins with `line` is in parts: a signature of lines names them."""
    return line.startswith(b'{"chain":') and b'"kind":"signature","signature":' in line


def line_hashes(lines: Sequence[bytes]) -> list[str]:
    """Return what is signed of a bundle of lines: the SHA-256 of each, its line feed included, in hexadecimal."""
    return [sha256(line).hexdigest() for line in lines]


def message_of_lines(hashes: Sequence[str]) -> bytes:
    """Return the bytes that are signed of a bundle of lines."""
    return _OF_LINES + canonical(list(hashes))


def message_of_parts(manifest: bytes) -> bytes:
    """Return the bytes that are signed of a bundle in parts, from the line of its manifest."""
    return _OF_PARTS + manifest.removesuffix(b"\n")


def _signature(message: bytes, seed: bytes, chain: Sequence[Succession]) -> dict[str, Any]:
    key = public_key(seed)
    return {
        "kind": SIGNATURE,
        "key": key,
        "key_id": key_id(key),
        "chain": [as_line(step) for step in chain],
        "signature": SigningKey(seed).sign(message).signature.hex(),
    }
