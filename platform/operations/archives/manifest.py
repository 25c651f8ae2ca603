"""The form of an archive: a tar file whose first member describes and lists all others, in their order.

1. `manifest.json`; 2. of each table `rows/LABEL.jsonl`, a row a line; 3. of each repository `repositories/KEY.bundle`,
by its key on the site of the archive; 4. `objects.txt`, a line with digest and size of each object; 5. the objects,
each as `objects/DIGEST`. The manifest has the SHA-256 of 2 to 4, and objects are named by theirs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import (
    AddConstraint,
    AddField,
    AddIndex,
    AlterField,
    AlterModelOptions,
    CreateModel,
    RemoveConstraint,
    RemoveIndex,
    RenameIndex,
)

from core.errors import Refusal

FORMAT = 1
"""The version of this form."""

MANIFEST, OBJECTS = "manifest.json", "objects.txt"
OTHER_FILE = "give a file that export_competition wrote"
"""What to do about a file that has another form."""

MOST_MANIFEST_BYTES = 64 << 20

_WITHOUT_DATA = (
    AddConstraint,
    AddField,
    AddIndex,
    AlterField,
    AlterModelOptions,
    CreateModel,
    RemoveConstraint,
    RemoveIndex,
    RenameIndex,
)
"""Operations of a migration after which rows of before need nothing but the defaults of new columns."""


class ListedFile(NamedTuple):
    """A member of an archive, but for the manifest and objects."""

    name: str
    sha256: str
    bytes: int


class ArchiveManifest(NamedTuple):
    """What an archive says of itself."""

    version: str
    """The version of the software that wrote it."""
    migrations: Mapping[str, str]
    """The last migration of each app with a table in it."""
    site: str
    address: str
    signing_keys: Sequence[Mapping[str, Any]]
    """The public keys of the site that wrote it, as `competitions.models.CompetitionOrigin` has them."""
    slug: str
    title: str
    exported_at: str
    rows: Mapping[str, int]
    """The number of rows of each table, by its label."""
    repositories: int
    objects: int
    object_bytes: int
    missing: Sequence[str]
    """What the site had lost when it wrote the archive, in words."""
    files: Sequence[ListedFile]

    def written(self) -> bytes:
        """Return the content of the file."""
        return json.dumps({"format": FORMAT, **self._asdict()}, indent=1).encode()

    @classmethod
    def read(cls, content: bytes) -> ArchiveManifest:
        """Return the manifest. Raise `Refusal` for another file, and for a later form."""
        try:
            values = json.loads(content)
            form = values.pop("format")
            if isinstance(form, int) and form > FORMAT:
                raise Refusal(
                    f"the archive is of a newer version ({values.get('version')}): it has form {form}, and this site "
                    f"reads form {FORMAT}",
                    fix="update this site first",
                )
            manifest = cls(**values)
            return manifest._replace(files=[ListedFile(*each) for each in manifest.files])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise Refusal(
                f"the file is no archive of a competition: its manifest cannot be read ({error})",
                fix=OTHER_FILE,
            ) from error


def rows_file(label: str) -> str:
    """Return the name of the member with the rows of a table."""
    return f"rows/{label}.jsonl"


def bundle_file(repository: int) -> str:
    """Return the name of the member with a repository, by its key in the rows."""
    return f"repositories/{repository}.bundle"


def object_file(digest: str) -> str:
    """Return the name of the member with an object."""
    return f"objects/{digest}"


def last_migrations(apps: set[str]) -> dict[str, str]:
    """Return the name of the last migration of each app."""
    leaves = MigrationLoader(connection).graph.leaf_nodes()
    return {app: name for app, name in sorted(leaves) if app in apps}


def require_readable(manifest: ArchiveManifest) -> None:
    """Raise `Refusal` if the tables of an archive are not those of this site, or may need more than defaults."""
    graph = MigrationLoader(connection).graph
    leaves = dict(graph.leaf_nodes())
    for app, name in manifest.migrations.items():
        if (app, name) not in graph.nodes:
            raise Refusal(
                f"the archive is of a newer version ({manifest.version}): this site lacks the migration {app}.{name}",
                fix="update this site first",
            )
        before = set(graph.forwards_plan((app, name)))
        later = [each for each in graph.forwards_plan((app, leaves[app])) if each[0] == app and each not in before]
        for each in later:
            if any(not isinstance(operation, _WITHOUT_DATA) for operation in graph.nodes[each].operations):
                raise Refusal(
                    f"the archive is of version {manifest.version}, and the migration {'.'.join(each)} has changed "
                    "what its rows mean since then",
                    fix=f"import it into an empty site of version {manifest.version}, update that site, and export it "
                    "there",
                )
