"""Content-addressed files outside the web root: equal bytes are kept once, under their SHA-256."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from django.conf import settings

from core.errors import Fault

_COPY_BYTES = 1 << 20

_CHECK_BYTES = 4 << 20
"""More than the images and the trace of a piece take."""


def put(content: bytes) -> str:
    """Keep `content` and return its digest, 64 hexadecimal digits. Whole or not at all, safe to repeat."""
    digest = hashlib.sha256(content).hexdigest()
    path = path_of(digest)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:  # the disk may be full: half a file must not stay
            Path(name).unlink(missing_ok=True)
            raise
    return digest


def put_file(file: Path) -> str:
    """Keep a copy of `file`, which may be large, and return its digest. Whole or not at all, safe to repeat."""
    with file.open("rb") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
    path = path_of(digest)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(handle, "wb") as target, file.open("rb") as source:
                shutil.copyfileobj(source, target, _COPY_BYTES)
                target.flush()
                os.fsync(target.fileno())
            Path(name).replace(path)
        except BaseException:  # the disk may be full: half a file must not stay
            Path(name).unlink(missing_ok=True)
            raise
    return digest


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
