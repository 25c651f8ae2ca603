"""Write a competition, with all that it needs to be read and computed again, into one file."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

from django.conf import settings
from django.db import connection, transaction

from competitions.models import Competition
from core import clock, event_log, object_store
from core.errors import Refusal
from core.missing_migrations_check import require_migrated
from core.models import Event, SiteIdentity
from core.site_identity import require_identity
from core.time_format import for_programs
from evaluation import __version__
from operations.archives.archive_tables import NOT_IN_EVENTS, Table, Tables, digests_in
from operations.archives.manifest import (
    MANIFEST,
    OBJECTS,
    ArchiveManifest,
    ListedFile,
    bundle_file,
    last_migrations,
    object_file,
    rows_file,
)
from repositories.git_bundles import write_bundle
from repositories.models import Repository
from rounds.models import SigningKey
from submissions.models import Submission

ROWS_AT_ONCE = 2000
_SHOWN = 10
"""Missing objects that a refusal lists."""


class WrittenArchive(NamedTuple):
    """A written archive: how many rows, repositories and objects it has, its bytes, and what is missing in it."""

    rows: int
    repositories: int
    objects: int
    bytes: int
    missing: Sequence[str]


def export_archive(*, slug: str, file: Path, allow_missing: bool = False) -> WrittenArchive:
    """Write the archive of a competition into the new file `file`, completely or not at all.

    It has secrets of the competition: images, salts and code. Of people it has their names alone. Raise `Refusal` for
    an unknown competition, while something in it goes on, where objects are missing (unless `allow_missing`), and where
    the file exists or cannot be written.
    """
    require_migrated()
    require_identity()
    competition = Competition.objects.filter(slug=slug).first()
    if competition is None:
        known = ", ".join(Competition.objects.order_by("slug").values_list("slug", flat=True)) or "none"
        raise Refusal(f"there is no competition {slug!r}", fix=f"choose from: {known}")
    if file.exists():
        raise Refusal(f"{file} exists", fix="name a new file, or remove this one")
    try:
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=f".{file.name}-") as name:
            done = _Export(competition, Path(name)).write(allow_missing=allow_missing)
            written = Path(name) / "archive.tar"
            size = written.stat().st_size
            written.replace(file)
    except OSError as error:
        raise Refusal(
            f"{file} cannot be written: {error}", fix="free space there, or name a file in another folder"
        ) from error
    event_log.record("export_archive", competition, slug=competition.slug, objects=done.objects, bytes=size)
    return WrittenArchive(sum(done.rows.values()), done.repositories, done.objects, size, done.missing)


class _Export:
    """An archive that is being written in `folder`."""

    def __init__(self, competition: Competition, folder: Path) -> None:
        self._competition, self._folder = competition, folder
        self._tables = Tables()
        self._files: list[tuple[ListedFile, Path]] = []
        self._counts: dict[str, int] = {}
        self._digests: set[bytes] = set()
        self._missing: list[str] = []

    def write(self, *, allow_missing: bool) -> ArchiveManifest:
        """Write `archive.tar`; return its manifest."""
        with _one_moment():
            self._require_nothing_open()
            for table in self._tables.ordered:
                self._write_rows(table)
        self._write_repositories()
        objects, total = self._write_list_of_objects()
        if self._missing and not allow_missing:
            shown = ", ".join(self._missing[:_SHOWN])
            more = f" and {len(self._missing) - _SHOWN:,} more" if len(self._missing) > _SHOWN else ""
            raise Refusal(
                f"the site has lost files of {self._competition.slug}: {shown}{more}",
                fix="restore them from a backup, or export without them: --allow-missing",
            )
        manifest = self._manifest(objects, total)
        with (self._folder / "archive.tar").open("wb") as target:
            with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
                content = manifest.written()
                _add(archive, MANIFEST, len(content), BytesIO(content))
                for listed, path in self._files:
                    with path.open("rb") as source:
                        _add(archive, listed.name, listed.bytes, source)
                self._add_objects(archive)
            target.flush()
            os.fsync(target.fileno())
        return manifest

    def _require_nothing_open(self) -> None:
        going_on = [f"{number:,} {noun}" for number, noun in self._tables.open_rows(self._competition)]
        if going_on:
            raise Refusal(
                f"{self._competition.slug} is not at rest: {', '.join(going_on)}",
                fix="let them end, cancel them or unfreeze the leaderboards, then export; take an archived competition "
                "back for that",
            )

    def _write_rows(self, table: Table) -> None:
        """Write the rows of a table, and note the objects that they name."""
        columns = self._tables.columns(table.model)
        own = self._tables.objects_of(table.model)
        path, digest, count, size = self._folder / table.label, hashlib.sha256(), 0, 0
        with path.open("wb") as file:
            for row in self._values(table, [column.attname for column in columns]):
                values = {column.name: _plain(value) for column, value in zip(columns, row[1:], strict=True)}
                if table.model is Event:
                    values["data"] = {name: each for name, each in values["data"].items() if name not in NOT_IN_EVENTS}
                line = json.dumps({"pk": row[0], **values}, ensure_ascii=False).encode() + b"\n"
                file.write(line)
                digest.update(line)
                count, size = count + 1, size + len(line)
        for each in own:
            found = table.rows(self._competition).filter(each.needed).order_by()
            for value in found.values_list(each.column, flat=True).iterator(ROWS_AT_ONCE):
                self._digests.update(bytes.fromhex(name) for name in digests_in(value, each.within))
        self._counts[table.label] = count
        self._files.append((ListedFile(rows_file(table.label), digest.hexdigest(), size), path))

    def _values(self, table: Table, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        if table is self._tables.users:
            return self._people(names)
        return table.rows(self._competition).values_list("pk", *names).iterator(ROWS_AT_ONCE)

    def _people(self, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield those whom rows of the competition name."""
        model = self._tables.users.model
        keys: set[int] = set()
        for table in self._tables.ordered:
            for column in self._tables.columns(table.model):
                if column.remote_field and column.remote_field.model is model:
                    rows = table.rows(self._competition).exclude(**{column.name: None}).order_by()
                    keys.update(rows.values_list(column.attname, flat=True).distinct())
        wanted = sorted(keys)
        for start in range(0, len(wanted), ROWS_AT_ONCE):
            some = model._base_manager.filter(pk__in=wanted[start : start + ROWS_AT_ONCE])
            yield from some.order_by("pk").values_list("pk", *names)

    def _write_repositories(self) -> None:
        for repository in Repository.objects.filter(track__competition=self._competition).order_by("pk"):
            path = self._folder / f"{repository.pk}.bundle"
            commits = Submission.objects.filter(repository=repository).values_list("commit", flat=True)
            lost = write_bundle(repository, commits, path)
            self._missing += [f"commit {commit} of {repository}" for commit in lost]
            if path.exists():
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                self._files.append((ListedFile(bundle_file(repository.pk), digest, path.stat().st_size), path))

    def _write_list_of_objects(self) -> tuple[int, int]:
        """Write digests and sizes of the objects that are there; return how many these are, and their bytes."""
        path, digest, count, total = self._folder / OBJECTS, hashlib.sha256(), 0, 0
        with path.open("wb") as file:
            for name in sorted(self._digests):
                size = object_store.size(name.hex())
                if size is None:
                    self._missing.append(f"object {name.hex()}")
                    continue
                line = f"{name.hex()} {size}\n".encode()
                file.write(line)
                digest.update(line)
                count, total = count + 1, total + size
        self._files.append((ListedFile(OBJECTS, digest.hexdigest(), path.stat().st_size), path))
        return count, total

    def _add_objects(self, archive: tarfile.TarFile) -> None:
        with (self._folder / OBJECTS).open() as lines:
            for line in lines:
                name, size = line.split()
                with object_store.open_object(name) as source:
                    checked = _HashedWhileRead(source)
                    _add(archive, object_file(name), int(size), checked)
                if checked.digest.hexdigest() != name:
                    raise Refusal(
                        f"object {name} is damaged: its bytes have another digest",
                        fix="restore it from a backup, or remove it from the store and export with --allow-missing",
                    )

    def _manifest(self, objects: int, total: int) -> ArchiveManifest:
        competition = self._competition
        return ArchiveManifest(
            version=__version__,
            migrations=last_migrations({table.model._meta.app_label for table in self._tables.ordered}),
            site=SiteIdentity.objects.get().value,
            address=settings.SITE_ADDRESS,
            signing_keys=signing_keys(),
            slug=competition.slug,
            title=competition.title,
            exported_at=clock.now().isoformat(),
            rows=self._counts,
            repositories=sum(listed.name.startswith("repositories/") for listed, _ in self._files),
            objects=objects,
            object_bytes=total,
            missing=self._missing,
            files=[listed for listed, _ in self._files],
        )


class _HashedWhileRead:
    """A file that is hashed while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        content = self._file.read(size)
        self.digest.update(content)
        return content


def signing_keys() -> list[Mapping[str, Any]]:
    """Return the public keys of this site, the oldest first; none before it signed anything."""
    return [
        {
            "key": key.public,
            "date": for_programs(key.made_at),
            "successor": key.successor.public if key.successor else None,
            "statement": key.statement or None,
        }
        for key in SigningKey.objects.select_related("successor").order_by("pk")
    ]


@contextmanager
def _one_moment() -> Iterator[None]:
    """See the rows of one moment in the block."""
    begins = not connection.in_atomic_block
    with transaction.atomic():
        if begins and connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


def _add(archive: tarfile.TarFile, name: str, size: int, source: Any) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    archive.addfile(member, source)
    archive.members.clear()  # type: ignore[attr-defined]  # it would keep a description of every object in memory


def _plain(value: Any) -> Any:
    """Return a value of a column as a value for JSON, which the column's `to_python` reads."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(bytes(value)).decode()
    return value
