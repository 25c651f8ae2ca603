"""Parts of the site that differ by the format of a competition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from core.errors import Fault


class HasFormat(Protocol):
    """A competition, or what a format is looked up for."""

    @property
    def format(self) -> str:
        """The name of its format."""


Part = TypeVar("Part")


class ByFormat(Generic[Part]):
    """One part of each format. The app that asks for the part holds it; `formats.base.register` fills it."""

    def __init__(self) -> None:
        self._parts: dict[str, Part] = {}

    def register(self, name: str, part: Part) -> None:
        """Add the part of a format. Raise `ValueError` for a name that has one."""
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
        return self._parts[name]

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    def __iter__(self) -> Iterator[str]:
        """Yield the names in the order of registration."""
        return iter(self._parts)
