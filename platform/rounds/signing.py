"""Adapter: the key that signs result bundles."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

from django.conf import settings

from core.errors import Fault
from evaluation.bundle import signing

SEED_BYTES = 32


def seed() -> bytes:
    """The secret seed of this site's Ed25519 key: made at first use, and kept in a file that only its owner reads.

    Two that ask first at once get the same. Raises `Fault` where the file cannot be used: it is never overwritten,
    for whoever has the old public key would take every new bundle for forged.
    """
    path: Path = settings.STATE / "signing-key"
    try:
        if not path.exists():
            _make(path)
        kept = bytes.fromhex(path.read_text())
    except (OSError, ValueError) as error:
        raise Fault(f"the signing key {path} cannot be used: {error}") from error
    if len(kept) != SEED_BYTES:
        raise Fault(f"the signing key {path} cannot be used: it has {len(kept)} bytes, not {SEED_BYTES}")
    return kept


def public_key() -> str:
    """What everybody checks this site's bundles with: 64 hexadecimal digits."""
    return signing.public_key(seed())


def signed(body: bytes) -> bytes:
    """`body` with this site's signature behind it: equal bodies give equal bytes."""
    return signing.sign(body, seed())


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # for its owner alone from the beginning; written beside and linked, so that the first one stays
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".signing-key-")
    fresh = Path(name)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(SEED_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(fresh)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
