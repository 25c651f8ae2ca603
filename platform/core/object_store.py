"""Content-addressed files outside the web root: equal bytes are kept once, under their SHA-256."""

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
"""More than the images and the trace of a piece take."""


def put(content: bytes) -> str:
    """Keep `content` and return its digest, 64 hexadecimal digits. Whole or not at all, safe to repeat."""
    digest = hashlib.sha256(content).hexdigest()
    _keep(digest, lambda file: file.write(content))
    return digest


def put_file(source: Path) -> str:
    """Keep a copy of a file, which may be large, as `put` keeps bytes."""
    with source.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
        opened.seek(0)
        _keep(digest, lambda file: shutil.copyfileobj(opened, file, _COPY_BYTES))
    return digest


def _keep(digest: str, write: Callable[[IO[bytes]], object]) -> None:
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
    except BaseException:  # the disk may be full: half a file must not stay
        Path(name).unlink(missing_ok=True)
        raise


def remove(digest: str) -> None:
    """Remove an object that nothing refers to any more."""
    path_of(digest).unlink(missing_ok=True)


def check() -> None:
    """Raise `Fault` where nothing can be kept now, for want of space on the disk or otherwise."""
    folder: Path = settings.OBJECTS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_CHECK_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise Fault(f"nothing can be kept in {folder}: {error}") from error


def get(digest: str) -> bytes:
    """What was kept under `digest`; raises `Fault` where it is missing or no longer what it was."""
    try:
        content = path_of(digest).read_bytes()
    except OSError as error:
        raise Fault(f"object {digest} cannot be read: {error}") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise Fault(f"object {digest} is damaged: its bytes have another digest")
    return content


def path_of(digest: str) -> Path:
    """Where the object `digest` lies, whether or not it is there."""
    folder: Path = settings.OBJECTS
    return folder / digest[:2] / digest[2:]
