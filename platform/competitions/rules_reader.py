"""Reader of the rules of a format: from the values of a competition's file to the object that the engine takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from competitions.rule_texts import SHARED_TEXTS, RuleText
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
    choices: Sequence[str] = ()
    """All of them, if they are a few words."""
    columns: Sequence[str] = ()
    """The keys of the tables that a value is a list of; empty for other values."""


def one_of(*choices: str, read: Callable[[Any], Any] = _unchanged) -> RuleKind:
    """Return the kind of a rule whose values are a few words."""
    return RuleKind(lambda value: value in choices, read, choices)


class RefusedRule(Refusal):
    """A refusal of the value of one rule. `rule` is its name, "" if it is none in particular."""

    def __init__(self, rule: str, problem: str, *, fix: str) -> None:
        super().__init__(problem, fix=fix)
        self.rule = rule


@dataclass(frozen=True)
class RulesReader(Generic[OfFormat]):
    """The reader of the rules of one format."""

    make: Callable[..., OfFormat]
    """The engine's class of the rules."""
    site_values: Mapping[str, Any]
    """The rules that only the site applies, with their defaults."""
    kinds: Mapping[str, RuleKind] = field(default_factory=dict)
    """Rules that need more than a value of the type of their default."""
    texts: Mapping[str, RuleText] = field(default_factory=dict)
    """The texts of the rules that only this format has."""

    @property
    def names(self) -> frozenset[str]:
        """The names of all values that the rules can set."""
        return frozenset(each.name for each in fields(self.make())) - {"version"} | self.site_values.keys()

    @property
    def changeable(self) -> Sequence[str]:
        """The names of the rules that have more than one possible value, in the order of the engine's class."""
        of_engine = [each.name for each in fields(self.make()) if each.name not in {"version", *_FIXED}]
        return [*of_engine, *self.site_values]

    def text(self, name: str) -> RuleText:
        """Return the text about a rule."""
        return {**SHARED_TEXTS, **self.texts}.get(name) or RuleText(name.replace("_", " "), "")

    def default(self, name: str) -> Any:
        """Return the default of a rule, as a file of a competition writes it."""
        return _plain(self.site_values[name] if name in self.site_values else self.make().as_dict()[name])

    def kind(self, name: str) -> RuleKind:
        """Return what the values of a rule are."""
        return self.kinds.get(name) or _kind_of(name, (dict(self.site_values) | vars(self.make()))[name])

    def read(self, values: Mapping[str, Any], version: int) -> OfFormat:
        """Return the rules for `values`; a missing one has its default. Raise `Refusal` naming all wrong ones."""
        if unknown := set(values) - self.names:
            raise Refusal(
                f"unknown rules: {', '.join(sorted(unknown))}", fix=f"use only: {', '.join(sorted(self.names))}"
            )
        given: dict[str, Any] = {}
        wrong: list[Refusal] = []
        for name, value in values.items():
            if name not in self.site_values:
                kind = self.kind(name)
                if kind.fits(value):
                    given[name] = kind.read(value)
                else:
                    problem, fix = f"the rule {name} is {value!r}", f"give a value like {self.default(name)!r}"
                    wrong.append(RefusedRule(name, problem, fix=fix))
        rules = self._made(given, version, wrong)
        if wrong:
            refuse_all(wrong)
        return rules

    def _made(self, given: Mapping[str, Any], version: int, wrong: list[Refusal]) -> OfFormat:
        """Return the rules; add what the engine refuses of them to `wrong`, and then leave that value out."""
        problem = self._problem(given)
        if not problem:
            return self.make(**given, version=version)
        without = {name: {key: value for key, value in given.items() if key != name} for name in given}
        # the engine names one problem at a time, in words: the value is the one without which it does not
        name = next((name for name, rest in without.items() if self._problem(rest) != problem), "")
        wrong.append(RefusedRule(name, f"the rules are not valid: {problem}", fix="correct the value"))
        return self._made(without.get(name, {}), version, wrong)

    def _problem(self, given: Mapping[str, Any]) -> str:
        """Return what the engine refuses of values, "" if it takes them."""
        try:
            self.make(**given)
        except ValueError as error:
            return str(error)
        return ""


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
    """Return a default of plain values as a file of a competition writes it."""
    if isinstance(default, tuple):
        return list(default)
    return str(default) if isinstance(default, StrEnum) else default
