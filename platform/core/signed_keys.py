"""Keys of links and commands: the number and the nonce of a row, signed with the secret key of the site.

The number alone would not do: in a restored database the next row has the number of one that is gone.
"""

from __future__ import annotations

import secrets

from django.core.signing import BadSignature, Signer

NONCE_LENGTH = 16


def new_nonce() -> str:
    """Return a new random number of 64 bits as text."""
    return secrets.token_hex(NONCE_LENGTH // 2)


def sign(number: int, nonce: str, *, purpose: str) -> str:
    """Return the key of a row."""
    return _signer(purpose).sign(f"{number}-{nonce}" if nonce else str(number))


def read(key: str, *, purpose: str) -> tuple[str, str] | None:
    """Return the number and the nonce of the row that a key is for; None if this site signed none such."""
    try:
        number, _, nonce = _signer(purpose).unsign(key).partition("-")
    except BadSignature:
        return None
    return number, nonce


def _signer(purpose: str) -> Signer:
    return Signer(salt=purpose, sep=".")
