"""Pseudonyms, the public names of players; digests identify the content and stay on the site."""

from __future__ import annotations

import hashlib
import hmac

CONTEXT = b"gauntlet-player-pseudonym-1"
"""Context of the derived key of pseudonyms, so that the secret may have other uses, too."""

_DIGITS = 32


def pseudonym(secret: bytes, digest: str) -> str:
    """Return the public name of the player with `digest`: `player-` and 32 hexadecimal digits.

    It is the HMAC-SHA256 of the digest under a key derived from `secret`. Equal digests have equal names. Without the
    secret a name cannot be matched to a digest.
    """
    key = hmac.digest(secret, CONTEXT, hashlib.sha256)
    return f"player-{hmac.digest(key, digest.encode(), hashlib.sha256).hex()[:_DIGITS]}"
