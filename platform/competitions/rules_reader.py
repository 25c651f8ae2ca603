"""Reader of the rules of a format: from the values of a competition's file to the object that the engine takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from core.errors import Refusal, refuse_all
from evaluation.domain.images import ImageShape

_FIXED = {"format", "norm"}


class Rules(Protocol):
    """The rules of any format, a data class of the engine whose defaults are the competition that had them first."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def name(self) -> str:
        """What the rules are called."""

    @property
    def version(self) -> int:
        """Number of the version of a competition's rules."""

    @property
    def format(self) -> str:
        """Name of their format."""

    @property
    def shape(self) -> ImageShape:
        """Shape of all images."""

    @property
    def classes(self) -> int:
        """Number of classes."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""


OfFormat = TypeVar("OfFormat", bound=Rules, covariant=True)


def _unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class RuleKind:
    """The values of a rule that the type of its default does not describe."""

    fits: Callable[[Any], bool]
    """Whether a value of the file is one of them."""
    read: Callable[[Any], Any] = _unchanged
    """Makes of it what the engine takes."""


@dataclass(frozen=True)
class RulesReader(Generic[OfFormat]):
    """The reader of the rules of one format."""

    make: Callable[..., OfFormat]
    """The engine's class of the rules."""
    site_values: Mapping[str, Any]
    """The rules that only the site applies, with their defaults."""
    kinds: Mapping[str, RuleKind] = field(default_factory=dict)
    """Rules that need more than a value of the type of their default."""

    @property
    def names(self) -> frozenset[str]:
        """The names of all values that the rules can set."""
        return frozenset(each.name for each in fields(self.make())) - {"version"} | self.site_values.keys()

    def read(self, values: Mapping[str, Any], version: int) -> OfFormat:
        """Return the rules for `values`; a missing one has its default. Raise `Refusal` naming wrong ones."""
        if unknown := set(values) - self.names:
            raise Refusal(
                f"unknown rules: {', '.join(sorted(unknown))}", fix=f"use only: {', '.join(sorted(self.names))}"
            )
        defaults = self.make()
        given, wrong = {}, []
        for name, value in values.items():
            if name not in self.site_values:
                try:
                    given[name] = self._read(name, value, getattr(defaults, name))
                except Refusal as refusal:
                    wrong.append(refusal)
        if wrong:
            refuse_all(wrong)
        try:
            return self.make(**given, version=version)
        except ValueError as error:
            raise Refusal(f"the rules are not valid: {error}", fix="correct the value") from error

    def _read(self, name: str, value: Any, default: Any) -> Any:
        kind = self.kinds.get(name) or _kind_of(name, default)
        if not kind.fits(value):
            raise Refusal(f"the rule {name} is {value!r}", fix=f"give a value like {_plain(default)!r}")
        return kind.read(value)


def _kind_of(name: str, default: Any) -> RuleKind:
    if isinstance(default, ImageShape):
        return RuleKind(_is_shape, lambda value: ImageShape(*value))
    if isinstance(default, float):
        return RuleKind(lambda value: type(value) in {int, float} and 0 < value < math.inf)
    if isinstance(default, int):
        return RuleKind(lambda value: type(value) is int and value > 0)
    if name in _FIXED:
        return RuleKind(lambda value: bool(value == default))
    return RuleKind(lambda value: isinstance(value, str))


def _is_shape(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 3 and all(type(v) is int and v > 0 for v in value)


def _plain(default: Any) -> Any:
    """Return a default as a file of a competition writes it."""
    if isinstance(default, tuple):
        return list(default)
    return str(default) if isinstance(default, StrEnum) else default
