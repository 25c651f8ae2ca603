"""Salts of the commitments of rounds: from this site's randomness alone, so that nobody can choose one."""

from __future__ import annotations

import secrets

_BYTES = 32


def new_salt() -> str:
    """A new salt, 64 hexadecimal digits."""
    return secrets.token_hex(_BYTES)
