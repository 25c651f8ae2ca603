"""Names in results that people read as sentences."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class ExplainedName(StrEnum):
    """Names as results and logs have them, each with the `text` of it for people: `NAME = "name", "its text"`."""

    text: str

    # type checkers take a lookup such as `Reason("crashed")` for a call of this, so the text has a default
    def __new__(cls, name: str, text: str = "") -> Self:
        if not text:
            raise TypeError(f"{name} has no text")
        member = str.__new__(cls, name)
        member._value_ = name
        member.text = text
        return member
