"""One table of a competition's file: its values are read one by one, and what is wrong is named with its place."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from core.errors import Refusal

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Table:
    """The table that stands at `place` in the file, e.g. "[tracks.model]". Each reader raises `Refusal`."""

    def __init__(self, place: str, content: Any, known: Iterable[str]) -> None:
        self.place = place
        names = list(known)
        if not isinstance(content, Mapping):
            raise Refusal(f"{place} is missing or no table", fix=f"write it with the keys: {', '.join(names)}")
        self.content = content
        for key in content:
            if key not in names:
                raise self.refusal(key, "unknown key", f"remove it{did_you_mean(str(key), names)}")

    def refusal(self, key: str, problem: str, fix: str) -> Refusal:
        """A refusal of the value of `key`."""
        return Refusal(f"{self.place} {key}: {problem}", fix=fix)

    def text(self, key: str, *, most: int, default: str | None = None) -> str:
        """Text of at most `most` characters; it may be empty only where it has a default. Line ends become LF."""
        value = self._given(key, default)
        if not isinstance(value, str) or "\0" in value or len(value) > most or (not value and default is None):
            raise self.refusal(
                key, f"{_shown(value)} is no text of 1 to {most} characters", "write such a text in quotes"
            )
        return value.replace("\r\n", "\n")

    def slug(self, key: str, *, most: int) -> str:
        """A name for addresses."""
        value = self.text(key, most=most)
        if not _SLUG.fullmatch(value):
            raise self.refusal(key, f"{value!r}", "use lower-case letters, digits and single hyphens")
        return value

    def choice(self, key: str, choices: Iterable[str], default: str | None = None) -> str:
        """One of `choices`."""
        value, known = self._given(key, default), list(choices)
        if value not in known:
            raise self.refusal(key, f"{_shown(value)} is unknown", f"write one of: {', '.join(known)}")
        return str(value)

    def number(self, key: str, least: int, most: int, default: int | None = None) -> int:
        """A whole number from `least` to `most`."""
        value = self._given(key, default)
        if type(value) is not int or not least <= value <= most:
            raise self.refusal(
                key, f"{_shown(value)}", f"write a whole number from {least:,} to {most:,}, without quotes"
            )
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """true or false."""
        value = self._given(key, default)
        if not isinstance(value, bool):
            raise self.refusal(key, f"{_shown(value)}", "write true or false, without quotes")
        return value

    def moment(self, key: str) -> datetime:
        """A time with its zone, in UTC."""
        value = self._given(key, None)
        try:
            if isinstance(value, datetime) and value.tzinfo is not None:
                return value.astimezone(UTC)
        except OverflowError:
            pass
        raise self.refusal(
            key, f"{_shown(value)} is no time with a zone", "write it as in 2026-11-21T12:00:00Z, unquoted"
        )

    def span(self) -> tuple[datetime, datetime]:
        """`starts_at` and `ends_at`, in this order."""
        starts_at, ends_at = self.moment("starts_at"), self.moment("ends_at")
        if ends_at <= starts_at:
            raise self.refusal("ends_at", "not after starts_at", "give a later end or an earlier start")
        return starts_at, ends_at

    def names(self, key: str, known: Iterable[str]) -> list[str]:
        """A list of different names among `known`; by default empty."""
        value, allowed = self._given(key, ()), list(known)
        if not isinstance(value, list | tuple):
            raise self.refusal(key, f"{_shown(value)} is no list", 'write names in brackets, as in ["boundary"]')
        for name in value:
            if name not in allowed:
                hint = did_you_mean(str(name), allowed)
                raise self.refusal(key, f"{_shown(name)} is no bundled submission of this track", f"remove it{hint}")
        if len(set(value)) < len(value):
            raise self.refusal(key, "a name stands there twice", "remove one of them")
        return list(value)

    def _given(self, key: str, default: Any) -> Any:
        value = self.content.get(key, default)
        if value is None:
            raise self.refusal(key, "missing", f"add a line {key} = ... below {self.place}")
        return value


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a fix: the name that is nearest to `word`, or all that are known."""
    names = sorted(known)
    near = difflib.get_close_matches(word.lower(), names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(names)}"


def _shown(value: Any) -> str:
    return repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:60]}..."
