"""Content-addressed file store outside the web root. Equal bytes are stored once, under their SHA-256."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from django.conf import settings

from core.errors import Fault

_COPY_BYTES = 1 << 20

_CHECK_BYTES = 4 << 20
"""More than the images and the trace of a piece need."""


def put(content: bytes) -> str:
    """Store `content` atomically and return its digest, 64 hexadecimal digits. Safe to repeat."""
    digest = hashlib.sha256(content).hexdigest()
    _store(digest, lambda file: file.write(content))
    return digest


def put_file(source: Path) -> str:
    """Store a copy of a file, which may be large; see `put`."""
    with source.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
        opened.seek(0)
        _store(digest, lambda file: shutil.copyfileobj(opened, file, _COPY_BYTES))
    return digest


def _store(digest: str, write: Callable[[IO[bytes]], object]) -> None:
    path = path_of(digest)
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:  # e.g. a full disk: remove the partial file
        Path(name).unlink(missing_ok=True)
        raise


def remove(digest: str) -> None:
    """Remove an object that is no longer used."""
    path_of(digest).unlink(missing_ok=True)


def check() -> None:
    """Raise `Fault` if the store cannot be written, for example because the disk is full."""
    folder: Path = settings.OBJECTS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_CHECK_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise Fault(f"{folder} cannot be written: {error}") from error


def get(digest: str) -> bytes:
    """Return the object `digest`. Raise `Fault` if it is missing or damaged."""
    try:
        content = path_of(digest).read_bytes()
    except OSError as error:
        raise Fault(f"object {digest} cannot be read: {error}") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise Fault(f"object {digest} is damaged: its bytes have another digest")
    return content


def path_of(digest: str) -> Path:
    """Return the path of the object `digest`, which may not exist."""
    folder: Path = settings.OBJECTS
    return folder / digest[:2] / digest[2:]
