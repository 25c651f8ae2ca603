"""Checked access to the fields of one untrusted line: each has a type and bounds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from math import copysign
from typing import Any, TypeVar

from numpy.typing import NDArray

from evaluation.bundle.binary_columns import is_column, is_of
from evaluation.bundle.canonical_json import canonical
from evaluation.domain.errors import BundleRefusal

_Word = TypeVar("_Word", bound=StrEnum)
_Value = TypeVar("_Value")

MOST_WHOLE = 2**63 - 1
"""The largest integer that a field may hold."""

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")

_SHOWN = 100
"""Characters of a value that a problem quotes."""

MOST_DISTANCE = 1e9
"""The largest distance, far above any possible one, so that sums stay finite."""


def quoted(value: Any) -> str:
    """Return a value of the file as shortened JSON, whose line ends cannot imitate lines of the report."""
    plain = {name: each for name, each in value.items() if not is_column(each)} if isinstance(value, Mapping) else value
    text = canonical(plain).decode()
    return text if len(text) <= _SHOWN else text[:_SHOWN] + " ..."


def _small(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST_DISTANCE


class Fields:
    """The fields of line `number`. Every method raises a `BundleRefusal` that names the line and the field."""

    def __init__(self, number: int, line: Mapping[str, Any], *, names: set[str]) -> None:
        self.number = number
        self._line = line
        for missing in sorted(names - line.keys()):
            raise self.refusal(f"{missing} is missing")
        if unknown := sorted(line.keys() - names - {"kind"}):
            raise self.refusal(f"it has unknown fields: {quoted(unknown)}")

    def refusal(self, problem: str) -> BundleRefusal:
        """Return the exception for an error in this line."""
        return BundleRefusal(self.number, problem)

    def text(self, name: str) -> str:
        return self._typed(name, self._line[name], str, "text")

    def flag(self, name: str) -> bool:
        return self._typed(name, self._line[name], bool, "true or false")

    def whole(self, name: str, least: int = 0, most: int = MOST_WHOLE) -> int:
        return self._whole(name, self._line[name], least, most)

    def distance(self, name: str) -> float:
        return self._distance(name, self._line[name])

    def word(self, name: str, words: type[_Word]) -> _Word:
        return self._word(name, self._line[name], words)

    def flags(self, name: str) -> list[bool]:
        return [self._typed(name, value, bool, "true or false") for value in self._list(name)]

    def texts(self, name: str) -> list[str]:
        return [self._typed(name, value, str, "text") for value in self._list(name)]

    def wholes(self, name: str, least: int = 0, most: int = MOST_WHOLE) -> list[int]:
        return [self._whole(name, value, least, most) for value in self._list(name)]

    def lists_of_wholes(self, name: str, least: int = 0, most: int = MOST_WHOLE) -> list[list[int]]:
        lists = [self._typed(name, value, list, "a list of lists") for value in self._list(name)]
        return [[self._whole(name, value, least, most) for value in values] for values in lists]

    def distances(self, name: str) -> list[float]:
        return [self._distance(name, value) for value in self._list(name)]

    def words(self, name: str, words: type[_Word]) -> list[_Word]:
        return [self._word(name, value, words) for value in self._list(name)]

    def large(self, name: str) -> int:
        """Return a whole number that may be too large for a double: text of its digits."""
        text = self.text(name)
        if not _WHOLE.fullmatch(text) or abs(int(text)) > MOST_WHOLE:
            raise self.refusal(f"{name} must be the digits of a whole number from -{MOST_WHOLE} to {MOST_WHOLE}")
        return int(text)

    def column(self, name: str, kind: str) -> NDArray[Any]:
        """Return a column of the type `kind` (`evaluation.bundle.binary_columns`)."""
        if not is_of(self._line[name], kind):
            raise self.refusal(f"{name} must be a column of the type {kind}")
        column: NDArray[Any] = self._line[name]
        return column

    def mapping(self, name: str) -> Mapping[str, Any]:
        return self._typed(name, self._line[name], dict, "an object")

    def mappings(self, name: str) -> list[Mapping[str, Any]]:
        values: list[Mapping[str, Any]] = [self._typed(name, value, dict, "an object") for value in self._list(name)]
        if any("kind" in value for value in values):  # which a line has, and no object in it
            raise self.refusal(f"an object of {name} has a kind")
        return values

    def _list(self, name: str) -> list[Any]:
        return self._typed(name, self._line[name], list, "a list")

    def _typed(self, name: str, value: Any, wanted: type[_Value], called: str) -> _Value:
        # bool is a subclass of int in Python, and an integer is not a distance: compare the exact type
        if type(value) is not wanted:
            raise self.refusal(f"{name} must be {called}")
        typed: _Value = value
        return typed

    def _whole(self, name: str, value: Any, least: int, most: int) -> int:
        whole = self._typed(name, value, int, "a whole number")
        if not least <= whole <= most:
            raise self.refusal(f"{name} must be a whole number from {least} to {most}")
        return whole

    def _distance(self, name: str, value: Any) -> float:
        # RFC 8785 writes 1.0 as 1
        distance = self._typed(name, float(value) if _small(value) else value, float, "a number")
        # -0.0 would be a second way to write 0
        if not 0 <= distance <= MOST_DISTANCE or copysign(1, distance) < 0:
            raise self.refusal(f"{name} must be from 0 to {MOST_DISTANCE:.0f}")
        return distance

    def _word(self, name: str, value: Any, words: type[_Word]) -> _Word:
        try:
            return words(self._typed(name, value, str, "text"))
        except ValueError:
            raise self.refusal(f"{name} must be one of {', '.join(words)}") from None
