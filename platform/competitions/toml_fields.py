"""Typed readers for one table of a competition's file. Errors name the place, and are collected."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from core.calendar_range import require_in_calendar
from core.errors import Refusal, refusals_of

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

Value = TypeVar("Value")
Options = ParamSpec("Options")


class Errors(list[Refusal]):
    """The errors of a file in their order. Who collects them refuses the file, and uses no value of it."""

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Add what a step refuses, and go on after it."""
        try:
            yield
        except Refusal as refusal:
            self.extend(refusals_of(refusal))


def _collecting(
    unreadable: Value,
) -> Callable[[Callable[Concatenate[TomlTable, Options], Value]], Callable[Concatenate[TomlTable, Options], Value]]:
    """Make a reader return `unreadable` for an invalid value, and add the refusal to the errors of its table."""

    def wrap(
        reader: Callable[Concatenate[TomlTable, Options], Value],
    ) -> Callable[Concatenate[TomlTable, Options], Value]:
        @wraps(reader)
        def read(table: TomlTable, /, *arguments: Options.args, **options: Options.kwargs) -> Value:
            with table.errors.collected():
                return reader(table, *arguments, **options)
            return unreadable

        return read

    return wrap


class TomlTable:
    """The table at `place` in the file, e.g. "[tracks.model]". Its readers add what is invalid to `errors`.

    What a reader returns then is of its type, and means nothing. Raise `Refusal` if it is no table.
    """

    def __init__(self, place: str, content: Any, known: Iterable[str], errors: Errors) -> None:
        self.place, self.errors = place, errors
        names = list(known)
        if not isinstance(content, Mapping):
            raise Refusal(f"{place} is missing or not a table", fix=f"write it with the keys: {', '.join(names)}")
        self.content = content
        for key in content:
            if key not in names:
                errors.append(self.refusal(key, "unknown key", f"remove it{did_you_mean(str(key), names)}"))

    def refusal(self, key: str, problem: str, fix: str) -> Refusal:
        """Return a refusal for the value of `key`."""
        return Refusal(f"{self.place} {key}: {problem}", fix=fix)

    @_collecting("")
    def text(self, key: str, *, most: int, default: str | None = None) -> str:
        """Return text of at most `most` characters, non-empty unless there is a default. Line ends become LF."""
        value = self._given(key, default)
        if not isinstance(value, str) or "\0" in value or len(value) > most or (not value and default is None):
            raise self.refusal(
                key, f"{_shown(value)} is not a text of 1 to {most} characters", "write a text in quotes"
            )
        return value.replace("\r\n", "\n")

    @_collecting("")
    def slug(self, key: str, *, most: int) -> str:
        """Return a short name for addresses."""
        value = self.text(key, most=most)
        if not SLUG.fullmatch(value):
            raise self.refusal(key, f"{value!r} is not valid", "use lower-case letters, digits and single hyphens")
        return value

    @_collecting("")
    def choice(self, key: str, choices: Iterable[str], default: str | None = None) -> str:
        """Return one of `choices`."""
        value, known = self._given(key, default), list(choices)
        if value not in known:
            raise self.refusal(key, f"{_shown(value)} is unknown", f"write one of: {', '.join(known)}")
        return str(value)

    @_collecting(1)
    def number(self, key: str, least: int, most: int, default: int | None = None) -> int:
        """Return a whole number from `least` to `most`."""
        value = self._given(key, default)
        if type(value) is not int or not least <= value <= most:
            raise self.refusal(
                key, f"{_shown(value)} is not valid", f"write a whole number from {least:,} to {most:,}, without quotes"
            )
        return value

    @_collecting(False)
    def flag(self, key: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._given(key, default)
        if not isinstance(value, bool):
            raise self.refusal(key, f"{_shown(value)} is not valid", "write true or false, without quotes")
        return value

    @_collecting(datetime.max.replace(tzinfo=UTC))
    def moment(self, key: str) -> datetime:
        """Return a time, which needs a time zone, in UTC."""
        value = self._given(key, None)
        if isinstance(value, datetime) and value.tzinfo is not None:
            try:
                require_in_calendar(value)
            except Refusal as refusal:
                raise self.refusal(key, refusal.problem, refusal.fix) from refusal
            return value.astimezone(UTC)
        raise self.refusal(
            key, f"{_shown(value)} is not a time with a zone", "write a time like 2026-11-21T12:00:00Z, without quotes"
        )

    def span(self) -> tuple[datetime, datetime]:
        """Return `starts_at` and `ends_at`, in this order."""
        before = len(self.errors)
        starts_at, ends_at = self.moment("starts_at"), self.moment("ends_at")
        if len(self.errors) == before and ends_at <= starts_at:
            self.errors.append(
                self.refusal("ends_at", "is not after starts_at", "give a later end or an earlier start")
            )
        return starts_at, ends_at

    @_collecting(list[str]())
    def names(self, key: str, known: Iterable[str], *, also: Callable[[str], bool] = lambda name: False) -> list[str]:
        """Return a list of different names from `known`, or that `also` accepts, by default empty."""
        value, allowed = self._given(key, ()), list(known)
        if not isinstance(value, list | tuple):
            raise self.refusal(key, f"{_shown(value)} is not a list", 'write names in brackets, like ["boundary"]')
        for name in value:
            if name not in allowed and not (isinstance(name, str) and also(name)):
                hint = did_you_mean(str(name), allowed)
                raise self.refusal(key, f"{_shown(name)} is not a bundled submission of this track", f"remove it{hint}")
        if len(set(value)) < len(value):
            raise self.refusal(key, "a name is listed twice", "remove one of them")
        return list(value)

    def _given(self, key: str, default: Any) -> Any:
        value = self.content.get(key, default)
        if value is None:
            raise self.refusal(key, "is missing", f"add a line {key} = ... below {self.place}")
        return value


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of a fix: the known name closest to `word`, or all known names."""
    names = sorted(known)
    near = difflib.get_close_matches(word.lower(), names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(names)}"


def _shown(value: Any) -> str:
    return repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:60]}..."
