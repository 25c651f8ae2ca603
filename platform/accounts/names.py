"""What people and teams may call themselves.

People log in by user name or e-mail address, so no user name may look like an address: it could be another person's.
Names of teams may be in any script. One must not look like another, so confusable letters are those of Unicode
Technical Standard 39.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from itertools import combinations

from confusable_homoglyphs.categories import alias
from confusable_homoglyphs.confusables import confusables_data
from django.core.validators import RegexValidator

from core.errors import Refusal

USERNAME_VALIDATORS = [
    RegexValidator(
        r"^[A-Za-z][A-Za-z0-9_-]{1,29}\Z",
        "Use 2 to 30 unaccented letters, digits, hyphens and underscores, the first a letter, as in robust-owl.",
    )
]
"""Of new user names. Accounts that are there keep theirs."""

MOST_CHARACTERS = 80
"""Of a team's name."""

MOST_MARKS = 3
"""How many combining marks one letter may have, taken apart (NFD): as many as Hindi and Hebrew need."""

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that show nothing and are neither controls nor spaces, beside the variation selectors."""

_NO_SCRIPT = frozenset({"COMMON", "INHERITED"})
_EAST_ASIAN = frozenset({"HAN", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"})
"""Scripts that are written together and share letters of one shape: they count as one."""

_MARK = "\u200e"
"""The library's tables have this mark around letters of scripts that are written from right to left."""
_LIKE = {
    char.strip(_MARK): tuple(str(like["c"]).strip(_MARK) for like in found) for char, found in confusables_data.items()
}


def clean_team_name(name: str) -> str:
    """The name in Unicode's form NFKC, with single spaces.

    Raises `Refusal` for a length other than 1 to 80, invisible characters, marks without a letter or stacked ones, and
    letters of one script that look like those of another script in the name.
    """
    name = " ".join(unicodedata.normalize("NFKC", name).split())
    if not 1 <= len(name) <= MOST_CHARACTERS:
        raise Refusal(
            "the team's name cannot be used", fix=f"give a name of 1 to {MOST_CHARACTERS} printable characters"
        )
    for char in name:
        if not char.isprintable() or char in _BLANK or _is_variation_selector(char):
            raise Refusal(f"the team's name holds an invisible character ({_described(char)})", fix="leave it out")
    _check_marks(name)
    _check_scripts(name)
    return name


def skeleton(name: str) -> str:
    """What names that look the same have in common (UTS 39, section 4), in lower case. It is compared, never shown."""
    # again after lower case, which has confusable letters of its own: "M" is looked like by nothing, "m" by "rn"
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
            raise Refusal(f"the team's name holds a mark without a letter ({_described(char)})", fix="leave it out")
        if char in marks or len(marks) == MOST_MARKS:
            raise Refusal("the team's name stacks marks on one letter", fix=f"use at most {MOST_MARKS} on a letter")
        marks += char


def _check_scripts(name: str) -> None:
    scripts = sorted({_script(char) for char in name} - _NO_SCRIPT, key=lambda script: (script != "LATIN", script))
    for first, second in combinations(scripts, 2):
        if (first, second) == ("LATIN", "EAST ASIAN"):
            continue  # written together, too: "highly restrictive" in UTS 39, section 5.2
        for char in name:
            if _script(char) == second and first in _scripts_of_look_alikes(char):
                raise Refusal(
                    f"letters of the team's name look alike: {_described(char)} looks like a {first.title()} letter",
                    fix="write the name in one script",
                )


def _script(char: str) -> str:
    script = str(alias(char))
    return "EAST ASIAN" if script in _EAST_ASIAN else script


@cache
def _prototype(char: str) -> str:
    """What stands in a skeleton for `char`. The tables list with it all its look-alikes, or the one they share."""
    like = _LIKE.get(char, ())
    if len(like) != 1:
        return char
    if len(like[0]) > 1 or len(_LIKE.get(like[0], ())) > 1:
        return like[0]
    return min(char, like[0])


@cache
def _scripts_of_look_alikes(char: str) -> frozenset[str]:
    prototype = _prototype(char)
    return frozenset(_script(like) for like in (prototype, *_LIKE.get(prototype, ())) if len(like) == 1)


def _is_variation_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\u180b" <= char <= "\u180f" or "\U000e0100" <= char <= "\U000e01ef"


def _described(char: str) -> str:
    return f"U+{ord(char):04X} {unicodedata.name(char, '')}".strip()
