"""Reader of `requirements.txt`: packages by name, and lines that only pip can process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from evaluation.domain.errors import BuildRefusal

# pip's options that say where packages come from, not which packages
_INDEX_OPTIONS = (
    "-i", "--index-url", "--extra-index-url", "--no-index", "-f", "--find-links", "--trusted-host", "--pre",
    "--prefer-binary", "--no-binary", "--only-binary", "--require-hashes", "--use-feature",
)  # fmt: skip

_PLAIN_BYTES, _PLAIN_REQUIREMENTS = 4 << 10, 32
_CLAUSE = r"(?:==|[~<>!]=|[<>]) ?[0-9]{1,8}(?:\.[0-9]{1,8}){0,5}(?:\.\*)?"
_COMMENT = r"\#[\t -\[\]-~]*"
_PLAIN_LINE = re.compile(
    rf"(?:(?P<requirement>[A-Za-z0-9][A-Za-z0-9._-]{{0,63}}(?: ?{_CLAUSE}(?:, ?{_CLAUSE}){{0,3}})?)"
    rf"(?:[ \t]+{_COMMENT})?|{_COMMENT})?"
)
"""A line that is parsed without a process of its own, without blanks at its ends: a name with at most four short
versions, and a comment. Neighbouring parts share no character, so matching takes linear time.

It has no marker, address, extra or option, which nest or name other files, and no backslash, which joins lines.
"""


@dataclass(frozen=True)
class RequirementLine:
    """One line: a requirement by name, or (`requirement` is None) a path or option that only pip can process."""

    file: str
    line: int
    text: str
    requirement: Requirement | None

    @property
    def place(self) -> str:
        return f"{self.file}, line {self.line}"


def are_plain(path: Path) -> bool:
    """Return True for a short requirements file of names and versions alone.

    Each line costs a parser of versions and a look at one installed package, and the number of lines is limited.
    """
    with path.open("rb") as file:
        content = file.read(_PLAIN_BYTES + 1)
    if len(content) > _PLAIN_BYTES or not content.isascii():
        return False
    lines = [line.removesuffix("\r").strip(" \t") for line in content.decode("ascii").split("\n")]
    found = [_PLAIN_LINE.fullmatch(line) for line in lines]
    return all(found) and sum(match["requirement"] is not None for match in found if match) <= _PLAIN_REQUIREMENTS


def read_requirements(path: Path, *, name: str) -> list[RequirementLine]:
    """Return the lines of the requirements file `path`, called `name` in messages, without index options.

    Raise `BuildRefusal` if the file is not text.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BuildRefusal(f"{name}: not UTF-8 text", fix="save the file as UTF-8") from error
    found = []
    for number, joined in _joined(text):
        line = re.sub(r"(^|\s)#.*$", "", joined).strip()
        if line and not _names_indexes(line):
            found.append(RequirementLine(name, number, line, _requirement(line, f"{name}, line {number}")))
    return found


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, joined as pip joins them: no comment goes on in the next line."""
    parts: list[str] = []
    first = 0
    for number, raw in enumerate(text.splitlines(), 1):
        first = first if parts else number
        comment = raw.lstrip().startswith("#")
        if raw.endswith("\\") and not comment:
            parts.append(raw.strip("\\"))
            continue
        yield first, "".join([*parts, " " if comment else "", raw])
        parts = []
    if parts:
        yield first, "".join(parts)


def _names_indexes(line: str) -> bool:
    """Return True if a line has only options for indexes: pip reads several in one line."""
    # at one blank, since many before anything else would take quadratic time
    return all(_names_an_index(option.rstrip()) for option in re.split(r"\s(?=-)", line))


def _names_an_index(line: str) -> bool:
    option, _, value = re.sub(r"[\s=]+", " ", line, count=1).partition(" ")
    local = option in ("-f", "--find-links") and ("://" not in value or value.startswith("file:"))
    return option in _INDEX_OPTIONS and not local


def _requirement(line: str, place: str) -> Requirement | None:
    if line.startswith("-"):
        return None
    try:
        # hashes and other options of one requirement follow it
        return Requirement(re.split(r"\s--", line, maxsplit=1)[0])
    except InvalidRequirement:
        return None
    except (ValueError, RecursionError) as error:  # digits or parentheses by the thousand
        raise BuildRefusal(f"{place}: not a requirement that can be read", fix="write a shorter line") from error
