"""Read an archive of a competition that was played on another site."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils.dateparse import parse_datetime

from competitions.formats import format_choices
from competitions.models import Competition, CompetitionOrigin
from competitions.toml_fields import SLUG
from core import clock, event_log, object_store
from core.errors import Fault, HostFault, Refusal
from core.missing_migrations_check import require_migrated
from core.site_identity import require_identity
from operations.archives.archive_reader import ArchiveFile
from operations.archives.archive_tables import Tables
from operations.archives.imported_rows import RowWriter
from operations.archives.manifest import OTHER_FILE, ArchiveManifest, bundle_file, require_readable
from repositories.git_bundles import read_bundle
from repositories.models import Repository
from rounds.formats import format_of
from rounds.models import Release

_IN_MEMORY = 8 << 20
_STAGING = ".import-"
"""How the name of the folder of an import begins."""


class Imported(NamedTuple):
    """An imported competition, the names that changed, and what its site had lost, in words."""

    competition: Competition
    origin: CompetitionOrigin
    renamed: Sequence[str]
    missing: Sequence[str]


def import_archive(*, file: Path, slug: str = "") -> Imported:
    """Add the competition of an archive to this site, completely or not at all, as one that can only be read.

    `slug` is its short name here, by default that of the archive. People become accounts that nobody can log in to.
    Raise `Refusal` where the archive is damaged or newer or the short name is taken, and `Fault` where a step fails:
    what is left then are objects that no row names, which the next import uses.
    """
    require_migrated()
    require_identity()
    archive = ArchiveFile(file)
    manifest = archive.manifest
    slug = slug or str(manifest.slug)
    _require_free(slug)
    try:
        require_readable(manifest)
        _require_format(archive)
        _store_objects(archive)
        with _staging() as folder:
            repositories = _stage_repositories(archive, folder)
            done = _write(archive, slug, repositories)
    except (OSError, HostFault) as error:
        raise Refusal(
            f"the archive cannot be imported: {error}", fix="free space in the state folder, then import it again"
        ) from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:  # its digests are right, and its form is not
        raise Refusal(
            f"the archive has values of another form than expected ({type(error).__name__}: {error})",
            fix=OTHER_FILE,
        ) from error
    if connection.vendor == "postgresql":  # it has no statistics of so many new rows, and leaderboards are slow without
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    return done


def _require_free(slug: str) -> None:
    if not SLUG.fullmatch(slug) or len(slug) > 60:
        raise Refusal(f"{slug!r} is no short name", fix="use lower-case letters, digits and single hyphens: --as SLUG")
    if Competition.objects.filter(slug=slug).exists():
        raise Refusal(
            f"this site has a competition {slug!r}, and nothing was changed", fix="give another short name: --as SLUG"
        )


def _require_format(archive: ArchiveFile) -> None:
    known = [name for name, _ in format_choices()]
    for row in archive.rows(Competition._meta.label):
        if row.get("format") not in known:
            raise Refusal(
                f"the competition has the format {row.get('format')!r}, and this site has {', '.join(known)}",
                fix="import it on a site with this format",
            )


def _store_objects(archive: ArchiveFile) -> None:
    """Store the objects that this site does not have; equal ones are stored once."""
    settings.REPOSITORIES.mkdir(parents=True, exist_ok=True)
    for digest, _, content in archive.objects():
        if object_store.size(digest) is not None:
            continue
        file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, dir=str(settings.REPOSITORIES))  # noqa: SIM115 - put_open closes it
        computed = hashlib.sha256()
        for chunk in content():
            computed.update(chunk)
            file.write(chunk)
        if computed.hexdigest() != digest:
            raise Refusal(f"the archive {archive.path} was changed while it was read", fix="import it again")
        object_store.put_open(file)


@contextmanager
def _staging() -> Iterator[Path]:
    """Yield a folder on the disk of the repositories, which goes at the end; one import at a time has one."""
    settings.REPOSITORIES.mkdir(parents=True, exist_ok=True)
    with (settings.STATE / "import.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for left in settings.REPOSITORIES.glob(f"{_STAGING}*"):  # of an import that was killed
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(dir=settings.REPOSITORIES, prefix=_STAGING) as name:
            yield Path(name)


def _stage_repositories(archive: ArchiveFile, folder: Path) -> list[Path]:
    """Make the repositories in `folder`, in the order of their rows."""
    staged: list[Path] = []
    for row in archive.rows(Repository._meta.label):
        bundle, target = folder / "bundle", folder / f"{len(staged)}.git"
        found = archive.copy(bundle_file(row["pk"]), bundle)
        read_bundle(bundle if found else None, target)
        bundle.unlink(missing_ok=True)
        staged.append(target)
    return staged


def _write(archive: ArchiveFile, slug: str, staged: Sequence[Path]) -> Imported:
    """Write the rows, and give the repositories their folders, in one transaction."""
    moved: list[Path] = []
    tables = Tables()
    writer = RowWriter(archive, tables, slug=slug, now=clock.now())
    writer.reserve(len(staged))
    try:
        with transaction.atomic():
            for table in tables.ordered:
                writer.write(table)
            competition = Competition.objects.get(pk=writer.competition)
            for version in competition.rules_versions.all():
                _ = version.engine_rules  # pages of all competitions read them
            origin = _origin(competition, archive.manifest)
            _make_tables_of_images(competition)
            for made, path in zip(_repositories(competition), staged, strict=True):
                path.rename(made.path)
                moved.append(made.path)
            event_log.record(
                "import_archive", competition, slug=slug, origin=origin.address, renamed=writer.renamed,
                exported=origin.exported_at.isoformat(),
            )  # fmt: skip
    except BaseException as error:
        for path in moved:
            shutil.rmtree(path, ignore_errors=True)
        if isinstance(error, IntegrityError):
            raise Refusal(
                f"the rows of the archive do not fit this site: {error}",
                fix="import it again: somebody may have taken one of its names meanwhile",
            ) from error
        if isinstance(error, DatabaseError):
            raise Fault(f"the rows of the archive cannot be written: {error}") from error
        raise
    return Imported(competition, origin, writer.renamed, archive.manifest.missing)


def _origin(competition: Competition, manifest: ArchiveManifest) -> CompetitionOrigin:
    """Return the site on which it was played: that of the archive, or the one from which that site imported it."""
    exported_at = parse_datetime(manifest.exported_at)
    if exported_at is None:
        raise Refusal(f"the archive does not say when it was written, but {manifest.exported_at!r}")
    origin, _ = CompetitionOrigin.objects.get_or_create(
        competition=competition,
        defaults={
            "slug": manifest.slug,
            "address": manifest.address,
            "site": manifest.site,
            "version": manifest.version,
            "signing_keys": [{**each, "key": str(each["key"])} for each in manifest.signing_keys],
            "exported_at": exported_at,
            "imported_at": clock.now(),
        },
    )
    return origin


def _repositories(competition: Competition) -> Sequence[Repository]:
    return list(Repository.objects.filter(track__competition=competition).order_by("pk"))


def _make_tables_of_images(competition: Competition) -> None:
    """Make the released tables of perturbed images again: they name rows by their keys, and are not signed."""
    tables = Release.objects.filter(round__competition=competition, part=Release.Part.PERTURBED, withdrawn_at=None)
    for release in tables.exclude(content="").select_related("round__competition"):
        release.content = object_store.put(format_of(release.round).perturbed_table(release.round))
        release.save(update_fields=["content"])
