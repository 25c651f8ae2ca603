"""The signature of a result bundle: Ed25519 over the SHA-256 of each of its lines.

The last line is {"chain":[...], "key":..., "key_id":..., "kind":"signature", "lines":[...], "signature":...} in
canonical form. `lines` holds the SHA-256, in hexadecimal, of each line before it, its line feed included, in order.
The signed bytes are `gauntlet-bundle-2`, a line feed, and the canonical form of that list alone, without a line feed.
`key` and `signature` are in hexadecimal. So a changed byte is detected, and its line is known. `chain` holds the
statements by which earlier keys led to `key` (`evaluation.bundle.signing_keys`), the oldest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from nacl.signing import SigningKey

from evaluation.bundle.canonical_json import FORM, canonical, encode, split
from evaluation.bundle.signing_keys import Succession, as_line, key_id, public_key, signs

SIGNATURE = "signature"
"""The kind of the last line."""

CONTEXT = f"gauntlet-bundle-{FORM}\n".encode()
"""The prefix of the signed bytes, so that a signature cannot be used for anything else."""


def sign(body: bytes, seed: bytes, chain: Sequence[Succession] = ()) -> bytes:
    """Return `body` and the line that signs it with the secret `seed` of 32 bytes; equal input gives equal bytes.

    `chain` leads from earlier published keys to this key.
    """
    hashes = line_hashes(split(body))
    key = public_key(seed)
    line = {
        "kind": SIGNATURE,
        "key": key,
        "key_id": key_id(key),
        "chain": [as_line(step) for step in chain],
        "lines": hashes,
        "signature": SigningKey(seed).sign(_message(hashes)).signature.hex(),
    }
    return body + encode([line])


def line_hashes(lines: Sequence[bytes]) -> list[str]:
    """Return what is signed: the SHA-256 of each line, its line feed included, in hexadecimal."""
    return [sha256(line).hexdigest() for line in lines]


def is_signed(hashes: Sequence[str], key: str, signature: str) -> bool:
    """Return True if the holder of the public `key` signed these hashes."""
    return signs(key, _message(hashes), signature)


def _message(hashes: Sequence[str]) -> bytes:
    return CONTEXT + canonical(list(hashes))
