"""Adapter: the files with the secrets of signing keys, and the engine's signatures."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

from django.conf import settings

from core.errors import Fault
from evaluation.bundle.key_succession import MOST_SUCCESSIONS, Succession, key_id, public_key, succeed
from evaluation.bundle.signing import sign_file

__all__ = [
    "MOST_SUCCESSIONS",
    "Succession",
    "key_id",
    "next_seed",
    "promote",
    "public_key",
    "seed",
    "sign_file",
    "stored_seed",
    "succeed",
    "waiting_seed",
]

SEED_BYTES = 32
_NAME, _NEXT = "signing-key", "signing-key.next"


def seed() -> bytes:
    """Return the secret seed of this site's Ed25519 key, made at first use in a file that only its owner can read.

    Concurrent first calls return the same seed. Raise `Fault` if the file cannot be used: it is never overwritten,
    because to holders of the old public key every new bundle would look forged.
    """
    return _read_or_make(settings.STATE / _NAME)


def stored_seed() -> bytes | None:
    """Return the secret seed, None if there is none. Raise `Fault` if the file cannot be used."""
    path: Path = settings.STATE / _NAME
    return _read_or_make(path) if path.exists() else None


def next_seed() -> bytes:
    """Return the seed that will replace the current one; made at first use, in a file of its own."""
    return _read_or_make(settings.STATE / _NEXT)


def waiting_seed() -> bytes | None:
    """Return the seed of `next_seed` that `promote` has not put into use yet, None if there is none."""
    path: Path = settings.STATE / _NEXT
    return _read_or_make(path) if path.exists() else None


def promote() -> None:
    """Replace the current seed, which is then deleted, by the next one."""
    try:
        (settings.STATE / _NEXT).replace(settings.STATE / _NAME)
    except OSError as error:
        raise Fault(f"the signing key {settings.STATE / _NEXT} cannot replace the current one: {error}") from error


def _read_or_make(path: Path) -> bytes:
    try:
        if not path.exists():
            _make(path)
        stored = bytes.fromhex(path.read_text())
    except (OSError, ValueError) as error:
        raise Fault(f"the signing key {path} cannot be used: {error}") from error
    if len(stored) != SEED_BYTES:
        raise Fault(f"the signing key {path} cannot be used: it has {len(stored)} bytes, not {SEED_BYTES}")
    return stored


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # readable only by its owner from the start; written to another file and linked, so that the first one stays
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
