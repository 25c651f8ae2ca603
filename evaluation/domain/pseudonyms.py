"""What players are called in public: their digests tell what they are made of, and stay on the site."""

from __future__ import annotations

import hashlib
import hmac

CONTEXT = b"gauntlet-player-pseudonym-1"
"""What the key of pseudonyms is derived with, so that the secret may serve for other things, too."""

_DIGITS = 32


def pseudonym(secret: bytes, digest: str) -> str:
    """The public name of the player with `digest`: `player-` and 32 hexadecimal digits.

    It is the HMAC-SHA256 of the digest under a key that is derived from `secret`. Equal digests have equal names;
    without the secret nobody can tell which digest a name belongs to, whatever digests they know.
    """
    key = hmac.digest(secret, CONTEXT, hashlib.sha256)
    return f"player-{hmac.digest(key, digest.encode(), hashlib.sha256).hex()[:_DIGITS]}"
