"""Salts of commitments, drawn from this site's randomness, so that no person can choose one."""

from __future__ import annotations

import secrets

_BYTES = 32


def new_salt() -> str:
    """Return a new salt, 64 hexadecimal digits."""
    return secrets.token_hex(_BYTES)
