"""What a format says of its tables for the archive of a competition. It adds a function in `AppConfig.ready`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from django.db.models import Model, Q, QuerySet

from competitions.models import Competition
from core.extension_point import ExtensionPoint


class NewNames(Protocol):
    """What rows and teams of an archive are called on the site that imports it."""

    def key(self, model: type[Model], old: int) -> int:
        """Return the new key of a row. Raise `Refusal` if the archive has no such row."""

    def team(self, slug: str) -> tuple[str, str]:
        """Return the new slug and name of a team."""


class StoredObjects(NamedTuple):
    """A column with digests of objects in the object store: a digest, or JSON with digests under `within`."""

    model: type[Model]
    column: str
    needed: Q = Q()
    """The rows whose objects are exported."""
    within: str = ""


class KeysInValues(NamedTuple):
    """A column whose values contain keys of rows of `models`; `renamed` returns a value with the new ones."""

    model: type[Model]
    column: str
    models: tuple[type[Model], ...]
    renamed: Callable[[Any, NewNames], Any]


class ArchivedTables(NamedTuple):
    """How some tables differ from rows that are copied with new keys."""

    objects: Sequence[StoredObjects] = ()
    keys: Sequence[KeysInValues] = ()
    cleared: Mapping[type[Model], Mapping[str, Any]] = {}
    """Columns that an archive does not have, with the value that they get."""
    open: Callable[[Competition], Sequence[tuple[QuerySet[Any], str]]] = lambda competition: ()
    """Return rows that have to end before a competition is exported, and what to call them: "evaluations"."""


archived_tables: ExtensionPoint[[], ArchivedTables] = ExtensionPoint()
"""How are the tables of a format archived?"""
