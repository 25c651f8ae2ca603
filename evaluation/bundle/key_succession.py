"""Signing keys: their identifiers, and the statements by which a key names its successor.

A key that is replaced signs a statement, {"date":..., "key":..., "signature":..., "successor":...}. `key` and
`successor` are public keys, `date` is an ISO 8601 time in UTC. The signed bytes are `gauntlet-key-1`, a line feed, and
the canonical form of {"date":..., "key":..., "successor":...}. From any published key these statements lead to the
newest one.
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
"""The prefix of every signed statement, so that a signature cannot be used for anything else."""

MOST_SUCCESSIONS = 64
"""The longest chain of keys in a bundle."""

_ID_DIGITS = 16
_KEY, _SIGNATURE = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{128}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


@dataclass(frozen=True)
class Succession:
    """The statement by the holder of `key` that `successor` signs from `date` on."""

    key: str
    successor: str
    date: str
    signature: str

    @property
    def holds(self) -> bool:
        """True if the holder of `key` signed it."""
        if not _DATE.fullmatch(self.date) or not _KEY.fullmatch(self.successor):
            return False
        return signs(self.key, _message(self.key, self.successor, self.date), self.signature)


def public_key(seed: bytes) -> str:
    """Return the public key, in hexadecimal, of the secret `seed` of 32 bytes."""
    return SigningKey(seed).verify_key.encode().hex()


def key_id(key: str) -> str:
    """Return the identifier of a public key: the first 16 hexadecimal digits of the SHA-256 of its 32 bytes."""
    return sha256(bytes.fromhex(key)).hexdigest()[:_ID_DIGITS]


def is_key(text: str) -> bool:
    """Return True if `text` is a public key: 64 lower-case hexadecimal digits."""
    return _KEY.fullmatch(text) is not None


def succeed(seed: bytes, successor: str, date: str) -> Succession:
    """Return the statement by the holder of the secret `seed` that `successor` signs from `date` on."""
    key = public_key(seed)
    signature = SigningKey(seed).sign(_message(key, successor, date)).signature
    return Succession(key, successor, date, signature.hex())


def is_chain(chain: Sequence[Succession], last: str) -> bool:
    """Return True if each statement is valid and follows on the one before, and the last names the key `last`."""
    keys = [*(step.key for step in chain), last]
    return all(step.holds and step.successor == after for step, after in zip(chain, keys[1:], strict=True))


def as_line(step: Succession) -> dict[str, str]:
    """Return a statement as JSON values."""
    return asdict(step)


def signs(key: str, message: bytes, signature: str) -> bool:
    """Return True if `signature` is that of the holder of the public `key`; both must be in lower case, so that each
    has one form only."""
    if not is_key(key) or not _SIGNATURE.fullmatch(signature):
        return False
    try:
        VerifyKey(bytes.fromhex(key)).verify(message, bytes.fromhex(signature))
    except (BadSignatureError, CryptoError, ValueError):
        return False
    return True


def _message(key: str, successor: str, date: str) -> bytes:
    return CONTEXT + canonical({"date": date, "key": key, "successor": successor})
