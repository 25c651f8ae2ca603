"""Reading an archive: everything is compared with its digests before anything of it is used.

No path of an archive is ever written to: its members have names of one form, in the order of the manifest.
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from core.errors import Refusal
from operations.archives.manifest import (
    MANIFEST,
    MOST_MANIFEST_BYTES,
    OBJECTS,
    OTHER_FILE,
    ArchiveManifest,
    ListedFile,
    object_file,
    rows_file,
)

_CHUNK = 1 << 20
_NAME = re.compile(r"rows/[A-Za-z_]+\.[A-Za-z_]+\.jsonl|repositories/[1-9][0-9]{0,17}\.bundle|objects\.txt")
_OBJECT = re.compile(r"([0-9a-f]{64}) ([0-9]{1,15})\n")


class _Place(NamedTuple):
    offset: int
    bytes: int


class ArchiveFile:
    """An archive that was read once and is what its manifest says."""

    def __init__(self, path: Path) -> None:
        """Read `path` to its end. Raise `Refusal` where it is no archive, newer, incomplete or changed."""
        self.path = path
        self._places: dict[str, _Place] = {}
        try:
            with path.open("rb") as file, tarfile.open(fileobj=file, mode="r:") as archive:
                self.manifest = self._read(archive)
        except tarfile.TarError as error:
            raise Refusal(f"{path} cannot be read as a tar file: {error}", fix="copy it again from its site") from error
        except OSError as error:
            raise Refusal(f"{path} cannot be read: {error}", fix="give a readable file") from error

    def rows(self, label: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table in the order of their keys; none if the archive does not have the table."""
        place = self._places.get(rows_file(label))
        if place is None:
            return
        with self.path.open("rb") as file:
            file.seek(place.offset)
            end = place.offset + place.bytes
            while file.tell() < end:
                try:
                    row = json.loads(file.readline())
                except (ValueError, RecursionError) as error:
                    raise Refusal(
                        f"the archive has a row of {label} that is no JSON",
                        fix=OTHER_FILE,
                    ) from error
                if not isinstance(row, dict) or not isinstance(row.get("pk"), int | None):
                    raise Refusal(f"the archive has no rows of {label}, but other values")
                yield row

    def copy(self, name: str, target: Path) -> bool:
        """Write a member into `target`; return False if the archive does not have it."""
        place = self._places.get(name)
        if place is None:
            return False
        with self.path.open("rb") as file, target.open("wb") as copy:
            file.seek(place.offset)
            for chunk in _chunks(file, place.bytes):
                copy.write(chunk)
        return True

    def objects(self) -> Iterator[tuple[str, int, Callable[[], Iterator[bytes]]]]:
        """Yield the digest and size of each object, and how its content is read."""
        place, listed = self._places[object_file("")], self._places[OBJECTS]
        with self.path.open("rb") as names, self.path.open("rb") as file:
            names.seek(listed.offset)
            file.seek(place.offset)
            archive = tarfile.open(fileobj=file, mode="r:")  # noqa: SIM115 - it holds nothing of its own
            while names.tell() < listed.offset + listed.bytes:
                name, size = _object(names.readline())
                member = _next(archive, object_file(name), size)
                yield name, size, lambda member=member: _chunks(_opened(archive, member), member.size)  # type: ignore[misc]

    def digests(self) -> Iterator[str]:
        """Yield the digests of the objects that it has."""
        listed = self._places[OBJECTS]
        with self.path.open("rb") as names:
            names.seek(listed.offset)
            while names.tell() < listed.offset + listed.bytes:
                yield _object(names.readline())[0]

    def _read(self, archive: tarfile.TarFile) -> ArchiveManifest:
        first = _next(archive, MANIFEST, None)
        if first.size > MOST_MANIFEST_BYTES:
            raise Refusal("the manifest of the archive is too large")
        manifest = ArchiveManifest.read(_opened(archive, first).read())
        for listed in manifest.files:
            if not _NAME.fullmatch(listed.name) or listed.name in self._places:
                raise Refusal(f"the manifest lists {listed.name!r}, which no archive has")
            self._check(archive, listed)
        self._read_objects(archive, manifest)
        return manifest

    def _read_objects(self, archive: tarfile.TarFile, manifest: ArchiveManifest) -> None:
        if OBJECTS not in self._places:
            raise Refusal("the archive lists no objects", fix="copy it again from its site")
        listed, count = self._places[OBJECTS], 0
        self._places[object_file("")] = _Place(archive.offset, 0)  # where they begin
        with self.path.open("rb") as names:
            names.seek(listed.offset)
            while names.tell() < listed.offset + listed.bytes:
                name, size = _object(names.readline())
                self._check(archive, ListedFile(object_file(name), name, size), keep=False)
                count += 1
        if count != manifest.objects:
            raise Refusal(f"the archive lists {count:,} objects, and its manifest {manifest.objects:,}")
        if archive.next() is not None:
            raise Refusal("the archive has members that its manifest does not list", fix="copy it again from its site")

    def _check(self, archive: tarfile.TarFile, listed: ListedFile, *, keep: bool = True) -> None:
        """Compare the next member with its size and digest."""
        member = _next(archive, listed.name, listed.bytes)
        digest = hashlib.sha256()
        for chunk in _chunks(_opened(archive, member), member.size):
            digest.update(chunk)
        if digest.hexdigest() != listed.sha256:
            raise Refusal(
                f"{listed.name} in the archive was changed: its SHA-256 is {digest.hexdigest()}, not {listed.sha256}",
                fix="copy the archive again from its site",
            )
        if keep:
            self._places[listed.name] = _Place(member.offset_data, member.size)


def _next(archive: tarfile.TarFile, name: str, size: int | None) -> tarfile.TarInfo:
    """Return the next member, which has to be the file `name` of that size (None: any)."""
    member = archive.next()
    archive.members.clear()  # type: ignore[attr-defined]  # it would keep a description of every object in memory
    if member is None:
        raise Refusal(f"the archive is incomplete: it ends before {name}", fix="copy it again from its site")
    # a sparse file may say to have terabytes, and its bytes are not those in the archive
    plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and member.sparse is None
    if not plain or member.name != name:
        kind = "a file" if plain else "a link, a folder or a sparse file"
        raise Refusal(
            f"the archive has {kind} {member.name!r} where {name} has to be, so nothing of it was used",
            fix=OTHER_FILE,
        )
    if size is not None and member.size != size:
        raise Refusal(f"{name} in the archive has {member.size:,} bytes, and not the {size:,} that are listed")
    return member


def _opened(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    file = archive.extractfile(member)
    if file is None:
        raise Refusal(f"{member.name} in the archive is no file")
    return file


def _chunks(file: IO[bytes], size: int) -> Iterator[bytes]:
    left = size
    while left:
        chunk = file.read(min(left, _CHUNK))
        if not chunk:
            raise Refusal("the archive is incomplete: it ends within a file", fix="copy it again from its site")
        left -= len(chunk)
        yield chunk


def _object(line: bytes) -> tuple[str, int]:
    found = _OBJECT.fullmatch(line.decode(errors="replace"))
    if found is None:
        raise Refusal(f"the list of objects in the archive has a line that names none: {line[:100]!r}")
    return found[1], int(found[2])
