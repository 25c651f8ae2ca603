"""Signing keys: their identifiers, and how one names its successor.

A key that gives way to another signs a statement that names it, {"date":..., "key":..., "signature":...,
"successor":...}. `key` and `successor` are public keys, `date` is an ISO 8601 time in UTC. What is signed is
`gauntlet-key-1`, a line feed, and the canonical form of {"date":..., "key":..., "successor":...}. From any key that was
published these statements lead to the newest one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256

from nacl.exceptions import BadSignatureError, CryptoError
from nacl.signing import SigningKey, VerifyKey

from evaluation.bundle.canonical_json import canonical

CONTEXT = b"gauntlet-key-1\n"
"""What stands before everything that is signed here, so that no signature serves for anything else."""

MOST_SUCCESSIONS = 64
"""The longest chain of keys that a bundle names."""

_ID_DIGITS = 16
_KEY, _SIGNATURE = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{128}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


@dataclass(frozen=True)
class Succession:
    """The statement of the holder of `key` that `successor` signs from `date` on."""

    key: str
    successor: str
    date: str
    signature: str

    @property
    def holds(self) -> bool:
        """Whether the holder of `key` signed it."""
        if not _DATE.fullmatch(self.date) or not _KEY.fullmatch(self.successor):
            return False
        return signs(self.key, _message(self.key, self.successor, self.date), self.signature)


def public_key(seed: bytes) -> str:
    """The public key, in hexadecimal, of the secret `seed` of 32 bytes."""
    return SigningKey(seed).verify_key.encode().hex()


def key_id(key: str) -> str:
    """The identifier of a public key: the first 16 hexadecimal digits of the SHA-256 of its 32 bytes."""
    return sha256(bytes.fromhex(key)).hexdigest()[:_ID_DIGITS]


def is_key(text: str) -> bool:
    """Whether `text` is a public key as it is written: 64 hexadecimal digits in small letters."""
    return _KEY.fullmatch(text) is not None


def succeed(seed: bytes, successor: str, date: str) -> Succession:
    """The statement of the holder of the secret `seed` that the public key `successor` signs from `date` on."""
    key = public_key(seed)
    signature = SigningKey(seed).sign(_message(key, successor, date)).signature
    return Succession(key, successor, date, signature.hex())


def is_chain(chain: Sequence[Succession], last: str) -> bool:
    """Whether each statement holds and follows on the one before, and they end with the key `last`."""
    keys = [*(step.key for step in chain), last]
    return all(step.holds and step.successor == after for step, after in zip(chain, keys[1:], strict=True))


def as_line(step: Succession) -> dict[str, str]:
    """A statement as JSON values."""
    return asdict(step)


def signs(key: str, message: bytes, signature: str) -> bool:
    """Whether `signature` is that of the holder of the public `key`; both in small letters, the one way to write
    them."""
    if not is_key(key) or not _SIGNATURE.fullmatch(signature):
        return False
    try:
        VerifyKey(bytes.fromhex(key)).verify(message, bytes.fromhex(signature))
    except (BadSignatureError, CryptoError, ValueError):
        return False
    return True


def _message(key: str, successor: str, date: str) -> bytes:
    return CONTEXT + canonical({"date": date, "key": key, "successor": successor})
