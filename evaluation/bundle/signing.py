"""The signature of a result bundle: Ed25519 over the SHA-256 of each of its lines.

The last line is {"key":..., "kind":"signature", "lines":[...], "signature":...} in canonical form. `lines` holds the
SHA-256, in hexadecimal, of each line before it, its line feed included, in order. What is signed is the canonical form
of that list alone, from `[` to `]`, without a line feed. `key` and `signature` are in hexadecimal. So whoever changes
one byte of a line is found out, and which line it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256

from nacl.exceptions import BadSignatureError, CryptoError
from nacl.signing import SigningKey, VerifyKey

from evaluation.bundle.lines import canonical, encode, split

SIGNATURE = "signature"
"""The kind of the last line."""

_KEY, _SIGNATURE = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{128}")


def public_key(seed: bytes) -> str:
    """The public key, in hexadecimal, of the secret `seed` of 32 bytes."""
    return SigningKey(seed).verify_key.encode().hex()


def sign(body: bytes, seed: bytes) -> bytes:
    """`body` and the line that signs it with the secret `seed` of 32 bytes. The same for the same, always."""
    hashes = line_hashes(split(body))
    signature = SigningKey(seed).sign(canonical(hashes)).signature
    line = {"kind": SIGNATURE, "key": public_key(seed), "lines": hashes, "signature": signature.hex()}
    return body + encode([line])


def line_hashes(lines: Sequence[bytes]) -> list[str]:
    """What is signed: the SHA-256 of each line, its line feed included, in hexadecimal."""
    return [sha256(line).hexdigest() for line in lines]


def is_signed(hashes: Sequence[str], key: str, signature: str) -> bool:
    """Whether the holder of the public `key` signed these hashes; both in small letters, the one way to write them."""
    if not _KEY.fullmatch(key) or not _SIGNATURE.fullmatch(signature):
        return False
    try:
        VerifyKey(bytes.fromhex(key)).verify(canonical(list(hashes)), bytes.fromhex(signature))
    except (BadSignatureError, CryptoError, ValueError):
        return False
    return True
