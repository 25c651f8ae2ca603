"""Rules for user names and team names.

People log in by user name or e-mail address, so a user name must not look like an address: it could be another
person's. Team names may be in any script, but two names must not look the same. Confusable letters follow Unicode
Technical Standard 39.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache
from itertools import combinations

from django.core.validators import RegexValidator

from core.errors import Refusal

USERNAME_VALIDATORS = [
    RegexValidator(
        r"^[A-Za-z][A-Za-z0-9_-]{1,29}\Z",
        "Use 2 to 30 unaccented letters, digits, hyphens and underscores, the first a letter, as in robust-owl.",
    )
]
"""Validators of new user names. Existing accounts keep their names."""

MAX_CHARACTERS = 80
"""Maximum length of a team's name."""

MAX_MARKS = 3
"""Maximum number of combining marks on a letter after NFD decomposition: as many as Hindi and Hebrew need."""

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Invisible characters that are neither controls, spaces nor variation selectors."""

_NO_SCRIPT = frozenset({"COMMON", "INHERITED"})
_EAST_ASIAN = frozenset({"HAN", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"})
"""Scripts that are written together and share letter shapes; they count as one script."""

_MARK = "\u200e"
"""Mark that the library's tables put around letters of right-to-left scripts."""


def clean_team_name(name: str) -> str:
    """Return the name in Unicode's form NFKC, with single spaces.

    Raise `Refusal` for a length other than 1 to 80, invisible characters, marks without a letter or stacked marks, and
    letters of one script that look like letters of another script in the name.
    """
    name = " ".join(unicodedata.normalize("NFKC", name).split())
    if not 1 <= len(name) <= MAX_CHARACTERS:
        raise Refusal(
            "the team's name is not valid",
            fix=f"give a name of 1 to {MAX_CHARACTERS} printable characters",
        )
    for char in name:
        if not char.isprintable() or char in _BLANK or _is_variation_selector(char):
            raise Refusal(
                f"the team's name contains an invisible character ({_described(char)})",
                fix="remove the character",
            )
    _check_marks(name)
    _check_scripts(name)
    return name


def skeleton(name: str) -> str:
    """Return the lower-case skeleton (UTS 39, section 4), equal for names that look the same. It is never shown."""
    # twice, since lower case has its own confusable letters: nothing looks like "M", but "rn" looks like "m"
    return _prototypes(_prototypes(name).casefold())


def _prototypes(name: str) -> str:
    prototypes = "".join(map(_prototype, unicodedata.normalize("NFD", name)))
    return unicodedata.normalize("NFD", prototypes)


def _check_marks(name: str) -> None:
    base, marks = "", ""
    for char in unicodedata.normalize("NFD", name):
        if not unicodedata.category(char).startswith("M"):
            base, marks = char, ""
            continue
        if not base.isalnum():
            raise Refusal(
                f"the team's name has a mark without a letter ({_described(char)})",
                fix="remove the mark",
            )
        if char in marks or len(marks) == MAX_MARKS:
            raise Refusal(
                "the team's name stacks marks on one letter",
                fix=f"use at most {MAX_MARKS} marks on a letter",
            )
        marks += char


def _check_scripts(name: str) -> None:
    scripts = sorted({_script(char) for char in name} - _NO_SCRIPT, key=lambda script: (script != "LATIN", script))
    for first, second in combinations(scripts, 2):
        if (first, second) == ("LATIN", "EAST ASIAN"):
            continue  # also written together: "highly restrictive" in UTS 39, section 5.2
        for char in name:
            if _script(char) == second and first in _scripts_of_look_alikes(char):
                raise Refusal(
                    f"the team's name mixes scripts: {_described(char)} looks like a {first.title()} letter",
                    fix="use letters of one script",
                )


def _script(char: str) -> str:
    from confusable_homoglyphs.categories import alias  # noqa: PLC0415 - large tables; most programs check no name

    script = str(alias(char))
    return "EAST ASIAN" if script in _EAST_ASIAN else script


@cache
def _look_alikes() -> Mapping[str, tuple[str, ...]]:
    from confusable_homoglyphs.confusables import confusables_data  # noqa: PLC0415 - as above

    return {
        char.strip(_MARK): tuple(str(like["c"]).strip(_MARK) for like in found)
        for char, found in confusables_data.items()
    }


@cache
def _prototype(char: str) -> str:
    """Return the letter that replaces `char` in a skeleton. The tables list its look-alikes, or the one they share."""
    like = _look_alikes().get(char, ())
    if len(like) != 1:
        return char
    if len(like[0]) > 1 or len(_look_alikes().get(like[0], ())) > 1:
        return like[0]
    return min(char, like[0])


@cache
def _scripts_of_look_alikes(char: str) -> frozenset[str]:
    prototype = _prototype(char)
    return frozenset(_script(like) for like in (prototype, *_look_alikes().get(prototype, ())) if len(like) == 1)


def _is_variation_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\u180b" <= char <= "\u180f" or "\U000e0100" <= char <= "\U000e01ef"


def _described(char: str) -> str:
    return f"U+{ord(char):04X} {unicodedata.name(char, '')}".strip()
