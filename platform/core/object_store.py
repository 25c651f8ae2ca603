"""Content-addressed store of files outside the web root. Equal bytes are stored once, under their SHA-256.

The files are in the storage "objects" of the setting STORAGES, by default an `ObjectFolder`. An `area` is a folder of
its own, for objects that are removed soon: its list is short.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any, cast

from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage, Storage, storages

from core.errors import HostFault

_CHECK_BYTES = 4 << 20
"""More than the images and the trace of a piece need."""

_LONGEST_WRITE = timedelta(days=1)
"""Time without a write after which the program that wrote a partial file was killed."""

_DAMAGED = "object {} is damaged: its bytes have another digest"


class ObjectFolder(FileSystemStorage):
    """A local folder in which a file is complete and on the disk, or not there.

    A program makes it when it first uses it, and not again: where the folder is away later, because a disk or a share
    is no longer mounted, writing fails. Objects in a new folder would be lost when the old one is back.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        Path(self.location).mkdir(parents=True, exist_ok=True)

    def exists(self, name: str) -> bool:
        """Return True if there is a file; raise `OSError` where the folder cannot tell, as the bucket does."""
        try:
            Path(self.path(name)).lstat()
        except FileNotFoundError:
            Path(self.location).stat()  # of a folder that is away, nobody knows what is in it
            return False
        return True

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """Return `name`: files of the same name are equal."""
        return name

    def _save(self, name: str, content: File[bytes]) -> str:
        path = Path(self.path(name))
        if "/" in name:
            path.parent.mkdir(exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=self._folder_of_partial_files())
        try:
            with os.fdopen(handle, "wb") as file:
                for chunk in content.chunks():
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            Path(partial).replace(path)
        except BaseException:  # e.g. a full disk: remove the partial file
            Path(partial).unlink(missing_ok=True)
            raise
        return name

    def _folder_of_partial_files(self) -> Path:
        """Return the folder of files that are being written, without those of programs that were killed."""
        folder = Path(self.location) / ".partial"
        folder.mkdir(exist_ok=True)
        last = time.time() - _LONGEST_WRITE.total_seconds()
        for path in folder.iterdir():
            with suppress(FileNotFoundError):  # another program was faster, or it is complete now
                if path.stat().st_mtime < last:
                    path.unlink()
        return folder


def put(content: bytes, area: str = "") -> str:
    """Store `content` and return its digest, 64 hexadecimal digits. Safe to repeat. Raise `HostFault` if it fails."""
    return _store(hashlib.sha256(content).hexdigest(), ContentFile(content), area)


def put_file(source: Path) -> str:
    """Store a copy of a file, which may be large; see `put`."""
    with source.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
        return _store(digest, File(opened))


def put_open(file: IO[bytes]) -> str:
    """Store the whole content of an open file, which may be large, and close it; see `put`."""
    with file:
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
        return _store(digest, File(file))


def get(digest: str, area: str = "") -> bytes:
    """Return the object `digest`. Raise `HostFault` if it is missing or damaged."""
    with open_object(digest, area) as file:
        content = file.read()
    if hashlib.sha256(content).hexdigest() != digest:
        raise HostFault(_DAMAGED.format(digest))
    return content


def open_object(digest: str, area: str = "") -> IO[bytes]:
    """Open the object `digest`, which may be large. Raise `HostFault` if it is missing."""
    with _faults(f"object {digest} cannot be read"):
        return cast("IO[bytes]", _storage().open(_name(digest, area)))


def open_checked(digest: str) -> IO[bytes]:
    """Open the object `digest` after reading all of it once. Raise `HostFault` if it is missing or damaged."""
    file = open_object(digest)
    if hashlib.file_digest(file, "sha256").hexdigest() != digest:  # type: ignore[arg-type]
        file.close()
        raise HostFault(_DAMAGED.format(digest))
    file.seek(0)
    return file


def size(digest: str, area: str = "") -> int | None:
    """Return the number of bytes of the object `digest`, None if it is missing. Raise `HostFault` if it fails."""
    storage, name = _storage(), _name(digest, area)
    with _faults(f"object {digest} cannot be looked up"):
        return storage.size(name) if storage.exists(name) else None


def mean_size(rows: Iterable[tuple[int, str]]) -> float | None:
    """Return the mean bytes of a part of objects; None if all are missing. `rows` has the number of parts of each."""
    sized = [(parts, found) for parts, digest in rows if (found := size(digest)) is not None]
    return sum(found for _, found in sized) / sum(parts for parts, _ in sized) if sized else None


def remove(digest: str, area: str = "") -> None:
    """Remove an object that is no longer used. Raise `HostFault` if it fails."""
    with _faults(f"object {digest} cannot be removed"):
        _storage().delete(_name(digest, area))


def stored_before(area: str, moment: datetime) -> list[str]:
    """Return the digests of the objects of `area` that were stored before `moment`, and the names of partial files."""
    storage = _storage()
    with _faults(f"the objects of {area} cannot be listed"):
        try:
            _, names = storage.listdir(area)
        except FileNotFoundError:  # nothing was ever stored there
            return []
        return [name for name in names if (stored := _stored_at(f"{area}/{name}")) is not None and stored < moment]


def copy_folder(folder: Path) -> Iterator[tuple[str, bool]]:
    """Copy the objects of an `ObjectFolder` into this store, for a site that moves to another one.

    Yield the name of each file, and whether it is an object that is in the store now: neither partial nor damaged.
    Objects that are in the store already are not copied. Raise `HostFault` if the store cannot be written.
    """
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        name = path.relative_to(folder).as_posix()
        area, _, last = name.rpartition("/")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest not in (last, f"{area}{last}"):
                yield name, False
                continue
            file.seek(0)
            _store(digest, File(file), area if digest == last else "")
        yield name, True


def check() -> None:
    """Raise `HostFault` if the store cannot be written, for example because the disk is full."""
    name = f"check-{uuid.uuid4().hex}"
    with _faults("the object store cannot be written"):
        _storage().save(name, ContentFile(bytes(_CHECK_BYTES)))
        _storage().delete(name)


def _store(digest: str, content: File[bytes], area: str = "") -> str:
    storage, name = _storage(), _name(digest, area)
    with _faults(f"object {digest} cannot be written"):
        if not storage.exists(name):
            storage.save(name, content)
    return digest


@contextmanager
def _faults(problem: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HostFault(f"{problem}: {error}") from error


def _storage() -> Storage:
    return storages["objects"]


def _stored_at(name: str) -> datetime | None:
    try:
        return _storage().get_modified_time(name)
    except FileNotFoundError:  # removed meanwhile
        return None


def _name(digest: str, area: str) -> str:
    return f"{area}/{digest}" if area else f"{digest[:2]}/{digest[2:]}"
