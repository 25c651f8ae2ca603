"""Parts of the site that differ by the format of a competition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from django.utils.module_loading import import_string

from core.errors import Fault


class HasFormat(Protocol):
    """A competition, or what a format is looked up for."""

    @property
    def format(self) -> str:
        """The name of its format."""


Part = TypeVar("Part")


class ByFormat(Generic[Part]):
    """One part of each format, of a kind such as "pages". `formats.base.register` fills it.

    All of one kind are one: who registers a part need not import the app that asks for it. Without a kind, it is alone.
    """

    _of_kind: ClassVar[dict[str, dict[str, Any]]] = defaultdict(dict)

    def __init__(self, kind: str = "") -> None:
        self._parts = self._of_kind[kind] if kind else {}

    def register(self, name: str, part: Part | str) -> None:
        """Add the part of a format, or the path of its class, which is imported when somebody asks for the part.

        Raise `ValueError` for a name that has one.
        """
        if name in self._parts:
            raise ValueError(f"the format {name!r} is registered twice")
        self._parts[name] = part

    def of(self, competition: HasFormat) -> Part:
        """Return the part of a competition's format."""
        return self[competition.format]

    def __getitem__(self, name: str) -> Part:
        """Return the part of a format. Raise `Fault` for an unknown one."""
        if name not in self._parts:
            known = ", ".join(sorted(self._parts)) or "none"
            raise Fault(f"no app of this site registers the format {name!r}, only: {known}")
        part = self._parts[name]
        if isinstance(part, str):
            part = self._parts[name] = import_string(part)()
        return cast("Part", part)

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    def __iter__(self) -> Iterator[str]:
        """Yield the names in the order of registration."""
        return iter(self._parts)
