"""The rows of an archive with keys and names of this site."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Field, Model

from accounts.models import Team, User
from accounts.name_rules import skeleton
from competitions.models import Competition, CompetitionOrigin, Entry, SampleSet
from core.errors import Refusal
from core.models import Event
from operations.archives.archive_reader import ArchiveFile
from operations.archives.archive_tables import Table, Tables, digests_in
from operations.archives.extension_points import StoredObjects
from operations.archives.free_names import FreeNames
from operations.archives.manifest import OTHER_FILE
from repositories.git_bundles import reserve_keys
from repositories.models import Repository
from rounds.models import RoundEntry

ROWS_AT_ONCE = 1000

_KEYED: Mapping[str, type[Model]] = {"entry": RoundEntry, "source": SampleSet}
"""Models of keys in the data of events that are called otherwise."""

_OF_THE_SUBJECT = ("replaces", "followed_by")
"""Names in the data of events of keys of the subject's own model."""


class NewKeys:
    """The new key of each row, by its key in the archive: 16 bytes a row."""

    def __init__(self) -> None:
        self._pairs: dict[type[Model], tuple[array[int], array[int]]] = {}

    def add(self, model: type[Model], old: int, new: int) -> None:
        """Note the key of a row; the rows of a table come in the order of their keys."""
        before, after = self._pairs.setdefault(model, (array("q"), array("q")))
        if before and before[-1] >= old:
            raise Refusal(f"the rows of {model._meta.label} in the archive are not in the order of their keys")
        before.append(old)
        after.append(new)

    def get(self, model: type[Model], old: int) -> int | None:
        """Return the new key of a row, None if the archive has no such row."""
        before, after = self._pairs.get(model, (array("q"), array("q")))
        place = bisect_left(before, old)
        return after[place] if place < len(before) and before[place] == old else None


class RowWriter:
    """Writes the rows of an archive, in one transaction of the caller."""

    def __init__(self, archive: ArchiveFile, tables: Tables, *, slug: str, now: datetime) -> None:
        self._archive, self._tables = archive, tables
        self._slug, self._now = slug, now
        self._objects = frozenset(archive.digests())
        self._missing = frozenset(each.removeprefix("object ") for each in archive.manifest.missing)
        self._keys = NewKeys()
        self._names = FreeNames()
        self._by_name = {str(model._meta.model_name): model for model in tables.models}
        self._reserved: list[int] = []
        self._competition: int | None = None

    @property
    def renamed(self) -> list[str]:
        """The people and teams that got another name, in words."""
        return self._names.renamed

    def reserve(self, repositories: int) -> None:
        """Get the keys of so many repositories, before the transaction."""
        self._reserved = reserve_keys(repositories)

    @property
    def competition(self) -> int:
        """The key of the competition."""
        if self._competition is None:
            raise Refusal("the archive has no competition")
        return self._competition

    def key(self, model: type[Model], old: int) -> int:
        """Return the new key of a row. Raise `Refusal` if the archive has no such row."""
        new = self._keys.get(model, old)
        if new is None:
            raise Refusal(f"a row of the archive names {model._meta.label} {old}, which it does not have")
        return new

    def team(self, slug: str) -> tuple[str, str]:
        """Return the new slug and name of a team. Raise `Refusal` if the archive has no such team."""
        if slug not in self._names.teams:
            raise Refusal(f"a row of the archive names the team {slug}, which it does not have")
        return self._names.teams[slug]

    def write(self, table: Table) -> None:
        """Write the rows of a table."""
        model, meta = table.model, table.model._meta
        columns = self._tables.columns(model)
        own = {column.name for column in columns if column.remote_field and column.remote_field.model is model}
        waiting: list[tuple[int, dict[str, int]]] = []
        some: list[tuple[int, Model, dict[str, int]]] = []

        def store() -> None:
            model._base_manager.bulk_create([row for _, row, _ in some])
            for old, row, later in some:
                if meta.pk.remote_field is None:
                    self._keys.add(model, old, row.pk)
                if later:
                    waiting.append((row.pk, later))
            some.clear()

        # a team looks for a free name among those that are stored
        most = 1 if model is Team else ROWS_AT_ONCE
        for row in self._archive.rows(table.label):
            if set(row) - {"pk"} - {column.name for column in columns}:
                raise Refusal(
                    f"the archive has columns of {table.label} that this site does not have",
                    fix=f"import it on a site of version {self._archive.manifest.version}",
                )
            later = {name: row[name] for name in own if row.get(name) is not None}
            some.append((row["pk"], self._made(model, columns, row), later))
            if len(some) == most:
                store()
        store()
        for key, references in waiting:
            values = {f"{name}_id": self.key(model, old) for name, old in references.items()}
            model._base_manager.filter(pk=key).update(**values)
        if model is Competition:
            self._competition = self._written_competition()

    def _written_competition(self) -> int:
        keys = [self._keys.get(Competition, row["pk"]) for row in self._archive.rows(Competition._meta.label)]
        if len(keys) != 1 or keys[0] is None:
            raise Refusal("the archive does not have exactly one competition")
        return keys[0]

    def _made(self, model: type[Model], columns: list[Field[Any, Any]], row: Mapping[str, Any]) -> Model:
        values = {column.attname: self._value(column, row) for column in columns if column.name in row}
        for name, renaming in self._tables.keys_in(model).items():
            for each in renaming if name in values else ():
                values[name] = each.renamed(values[name], self)
        for stored in self._tables.objects_of(model):
            self._require_objects(stored, values)
        return model(**{**values, **self._tables.cleared(model), **self._special(model, values)})

    def _require_objects(self, stored: StoredObjects, values: dict[str, Any]) -> None:
        """Raise `Refusal` for an object that the archive does not have: this site may have it, for another purpose."""
        for digest in digests_in(values.get(stored.column), stored.within):
            if digest in self._objects:
                continue
            if stored.needed and not stored.needed.check(values):  # an archive does not have it
                values[stored.column] = ""
            elif digest not in self._missing:
                raise Refusal(
                    f"a row of {stored.model._meta.label} names an object that the archive does not list",
                    fix=OTHER_FILE,
                )
            elif stored.model is SampleSet:  # all planning of rounds reads the images of all sets
                raise Refusal(
                    f"the archive lacks the images of a sample set: object {digest}",
                    fix="restore it on the site of the archive from a backup, and export again",
                )

    def _value(self, column: Field[Any, Any], row: Mapping[str, Any]) -> Any:
        value = row[column.name]
        if value is None:
            return None
        if column.remote_field:
            other = column.remote_field.model
            return None if other is column.model else self.key(other, value)
        try:
            read = column.to_python(value)
            column.run_validators(read)
            if column.choices and read not in (*column.empty_values, *dict(column.flatchoices)):
                raise ValidationError("no choice")
            return read
        except (ValidationError, TypeError, ValueError) as error:
            raise Refusal(
                f"{column.model._meta.label}.{column.name} in the archive has no valid value", fix=OTHER_FILE
            ) from error

    def _special(self, model: type[Model], values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a row that have other values here."""
        if model is Competition:
            return {"slug": self._slug, "archived_at": values["archived_at"] or self._now}
        if model is CompetitionOrigin:
            return {"imported_at": self._now}
        if model is User:
            return self._person(values["username"])
        if model is Team:
            slug, name = self._names.team(values["slug"], values["name"])
            return {"slug": slug, "name": name, "slug_skeleton": skeleton(slug), "name_skeleton": skeleton(name)}
        if model is Entry:
            return {"slug_of_origin": values["slug_of_origin"] or self._slug_of_origin(values["team_id"])}
        if model is Repository:
            return {"id": self._reserved.pop(0)}
        return self._event(values) if model is Event else {}

    def _person(self, username: str) -> dict[str, Any]:
        """Return the columns of an account that nobody can log in to."""
        made = User(username=self._names.person(username))
        made.set_unusable_password()
        return {
            "username": made.username,
            "username_skeleton": skeleton(made.username),
            "password": made.password,
            "is_active": False,
            "date_joined": self._now,
        }

    def _slug_of_origin(self, team: int) -> str:
        new = Team.objects.get(pk=team).slug
        return next((old for old, (slug, _) in self._names.teams.items() if slug == new and old != new), "")

    def _event(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of an event with new keys; a row that was deleted gets the key 0."""
        name, _, old = values["subject"].partition(":")
        model = self._by_name.get(name)
        new = self._keys.get(model, int(old)) if model is not None and old.isdigit() else None
        data = {key: self._in_data(key, value, model) for key, value in values["data"].items()}
        return {
            "subject": f"{name}:{new or 0}",
            "scope": f"competition:{self.competition}",
            "data": data,
        }

    def _in_data(self, name: str, value: Any, subject: type[Model] | None) -> Any:
        """Return a value of an event's data, with new keys if its name is that of a table."""
        model = subject if name in _OF_THE_SUBJECT else _KEYED.get(name)
        model = model or self._by_name.get(name) or self._by_name.get(name.removesuffix("s"))
        if model is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return self._keys.get(model, value)
        if isinstance(value, list):
            return [self._in_data(name, each, subject) for each in value]
        return value
