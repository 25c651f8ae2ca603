"""The secret of a webhook, and the signature of a request.

The database holds a random number for each webhook, and the secret is its HMAC under the secret key of the site. So a
copy of the database alone signs nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from django.conf import settings

PREFIX = "gtw_"
_PURPOSE = b"webhooks.secret:"


def new_nonce() -> str:
    """Return a new random number of 256 bits as text."""
    return secrets.token_urlsafe(32)


def secret_of(nonce: str) -> str:
    """Return the secret that belongs to a random number."""
    key = hashlib.sha256(_PURPOSE + settings.SECRET_KEY.encode()).digest()
    return PREFIX + base64.urlsafe_b64encode(hmac.digest(key, nonce.encode(), "sha256")).decode().rstrip("=")


def signature(secret: str, seconds: int, body: bytes) -> str:
    """Return the header `Gauntlet-Signature` of a body that is sent at `seconds` (Unix time)."""
    signed = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256)
    return f"t={seconds},v1={signed.hexdigest()}"
