"""`submission.toml`, the manifest of a submission."""

from __future__ import annotations

import difflib
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from evaluation.builder.spdx import is_identifier, normal_licence
from evaluation.domain.errors import ManifestRefusal, Refusal
from evaluation.domain.players import TrackName
from evaluation.parsing.limited_process import Fields, ask_once

MANIFEST_NAME = "submission.toml"
MAX_MANIFEST_BYTES = 16 << 10
MAX_TITLE_CHARACTERS = 120
MAX_LICENCE_CHARACTERS = 200

_SECONDS, _MEMORY_BYTES = 5, 1 << 30
"""Limits of the process that reads a manifest. A key of thousands of parts takes half a second."""

_PLAIN_BYTES = 4 << 10
_PLAIN_LINE = re.compile(
    r"(?:\[submission\]|(?P<key>[a-z]{1,16})[ \t]*=[ \t]*(?:\"(?P<text>[^\"\\\x00-\x1f\x7f]*)\"|true|false))?"
    r"[ \t]*(?:#[^\x00-\x08\x0a-\x1f\x7f]*)?"
)
"""A line of a manifest that is parsed without a process of its own, without blanks at its ends.

It has no dotted or quoted key, nesting, number, date, escape or text of several lines, so every rule of TOML reads each
of its characters a bounded number of times. Neighbouring parts share no character, so matching takes linear time, too.
(Possessive quantifiers around groups would say so, but Python 3.11.2 matches them wrongly.)
"""

_TABLE = "submission"
_COMPETITION = re.compile(r"https?://[^\s?#]{1,200}/competitions/[a-z0-9-]{1,60}")
_TYPES: dict[str, type] = {"track": str, "run": str, "title": str, "licence": str, "gpu": bool, "competition": str}
_OPTIONAL = frozenset({"gpu", "competition"})
_EXAMPLES = {
    "track": 'track = "model"',
    "run": 'run = "python main.py"',
    "title": 'title = "What this submission is"',
    "licence": 'licence = "Apache-2.0"',
    "gpu": "gpu = true",
    "competition": 'competition = "https://arena.example/competitions/SLUG"',
}
_MOST_WRONG_KEYS = 8
_SHELL_WORDS = frozenset({"&&", "||", "|", ";", "&", ">", ">>", "<"})


@dataclass(frozen=True)
class Manifest:
    """The table `[submission]`, checked. `run` is the command split as a shell would, `licence` an SPDX expression.

    `competition` is the address of the competition whose rules `gauntlet check` plays by, or "".
    """

    track: TrackName
    run: tuple[str, ...]
    title: str
    licence: str
    gpu: bool = False
    competition: str = ""


@dataclass(frozen=True)
class _Text:
    """The manifest's text, for line numbers in messages: `tomllib` gives values without positions."""

    lines: tuple[str, ...]

    def refusal(self, line: int, problem: str, fix: str) -> ManifestRefusal:
        return ManifestRefusal(f"{MANIFEST_NAME}, line {line}: {problem}", fix=fix)

    def refuse(self, line: int, problem: str, fix: str) -> NoReturn:
        raise self.refusal(line, problem, fix)

    def line_of_table(self, name: str) -> int:
        header = re.compile(rf"\s*\[\[?\s*[\"']?{re.escape(name)}[\"']?\s*[\].]")
        return self._first(header, 1) or self._first(re.compile(rf"\s*[\"']?{re.escape(name)}[\"']?\s*[.=]"), 1) or 1

    def line_of_key(self, key: str) -> int:
        table = self.line_of_table(_TABLE)
        return self._first(re.compile(rf"(?:.*[\s{{,.])?[\"']?{re.escape(key)}[\"']?\s*[.=]"), table) or table

    def _first(self, pattern: re.Pattern[str], start: int) -> int | None:
        return next((i for i, line in enumerate(self.lines[start - 1 :], start) if pattern.match(line)), None)


def read_manifest(source: Path) -> Manifest:
    """Read and check `source/submission.toml` as `parse_within_limits` does.

    The refusal names the file, the line and the fix.
    """
    return parse_within_limits(_read(source / MANIFEST_NAME))


@lru_cache(maxsize=256)
def parse_within_limits(content: bytes) -> Manifest:
    """Return `parse_manifest` of a stranger's bytes, in a process with limits unless they are short and plain.

    What exceeds them is a `BuildRefusal`. A manifest is read at each start of its player, so the last ones are kept.
    """
    if _is_plain(content):
        return parse_manifest(content)
    limits = {"seconds": _SECONDS, "memory_bytes": _MEMORY_BYTES}
    fields, _ = ask_once(f"{__name__}:parse_request", {}, content, what=MANIFEST_NAME, **limits)
    return Manifest(**fields | {"track": TrackName(fields["track"]), "run": tuple(fields["run"])})


def parse_request(_: Fields, content: bytes) -> tuple[Fields, bytes]:
    """Answer a request of `parse_within_limits`."""
    return asdict(parse_manifest(content)), b""


def _is_plain(content: bytes) -> bool:
    """Return True for a short manifest of plain lines with a known licence: expressions of licences need a parser."""
    if len(content) > _PLAIN_BYTES:
        return False
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return False
    for line in lines:
        found = _PLAIN_LINE.fullmatch(line.removesuffix("\r").strip(" \t"))
        if found is None or (found["key"] == "licence" and not is_identifier(found["text"] or "")):
            return False
    return True


def parse_manifest(content: bytes) -> Manifest:
    """Parse and check the bytes of a `submission.toml` in this process. Raise `ManifestRefusal` with all its errors."""
    text = _text_of(content)
    lines = _Text(tuple(text.splitlines()))
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # tomllib also raises errors of numbers, dates and depth
        place = re.search(r"line (\d+)", str(error))
        lines.refuse(
            int(place[1]) if place else max(1, len(lines.lines)),
            f"not valid TOML: {error}",
            "write one `key = value` per line, with strings in double quotes, true and false without",
        )
    table = _submission_table(document, lines)
    found = _check_keys(table, lines)
    values: dict[str, Any] = {"gpu": table.get("gpu", False)}
    readers: dict[str, Callable[[str, _Text], Any]] = {
        "track": _track,
        "run": _run,
        "title": _title,
        "licence": _licence,
        "competition": _competition,
    }
    for key, reader in readers.items():
        value = table.get(key, "" if key in _OPTIONAL else None)
        if type(value) is not str:  # missing or of another type, which is an error already
            continue
        try:
            values[key] = reader(value, lines)
        except ManifestRefusal as refusal:
            found.append(refusal)
    if found:
        raise all_in_one(found, run=values.get("run", ()))
    return Manifest(**values)


def all_in_one(found: Sequence[Refusal], *, run: tuple[str, ...] = ()) -> ManifestRefusal:
    """Return everything that is wrong as one refusal, a line for each problem and each fix.

    `run` is the command, where it can be read, so that its script can be checked, too.
    """
    problems = dict.fromkeys(refusal.problem for refusal in found)
    fixes = dict.fromkeys(refusal.fix for refusal in found)
    return ManifestRefusal("\n".join(problems), fix="\n".join(fixes), run=run)


def is_competition_address(text: str) -> bool:
    """Return whether a text is the address of a competition on a site."""
    return _COMPETITION.fullmatch(text) is not None


def _competition(address: str, lines: _Text) -> str:
    if address and not is_competition_address(address):
        lines.refuse(
            lines.line_of_key("competition"),
            f"competition = {address!r} is no address of a competition",
            f"write it as {_EXAMPLES['competition']}, or remove it",
        )
    return address


def missing_manifest(place: str) -> ManifestRefusal:
    """Return the refusal of a submission without a manifest; `place` is where it was expected."""
    example = "; ".join(_EXAMPLES[key] for key in _TYPES if key not in _OPTIONAL)
    return ManifestRefusal(
        f"{MANIFEST_NAME} is missing in {place}",
        fix=f"add it at the top of the repository, with a table [{_TABLE}]: {example}",
    )


def irregular_manifest() -> ManifestRefusal:
    """Return the refusal of a manifest that is a link, a directory or a special file."""
    return ManifestRefusal(f"{MANIFEST_NAME} is not a plain file", fix="replace it by a plain text file")


def _read(path: Path) -> bytes:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise irregular_manifest()
    try:
        with path.open("rb") as file:
            return file.read(MAX_MANIFEST_BYTES + 1)
    except FileNotFoundError:
        raise missing_manifest(str(path.parent)) from None
    except OSError as error:
        raise ManifestRefusal(f"{MANIFEST_NAME} is not readable: {error}", fix="make the file readable") from error


def _text_of(content: bytes) -> str:
    if len(content) > MAX_MANIFEST_BYTES:
        raise ManifestRefusal(
            f"{MANIFEST_NAME} is larger than {MAX_MANIFEST_BYTES:,} bytes", fix=f"keep only the table [{_TABLE}]"
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ManifestRefusal(f"{MANIFEST_NAME}, line {line}: not UTF-8", fix="save the file as UTF-8") from error


def _submission_table(document: dict[str, Any], lines: _Text) -> dict[str, Any]:
    for name in document:
        if name != _TABLE:
            kind = f"table [{name}]" if isinstance(document[name], dict) else f"key {name!r} outside of [{_TABLE}]"
            fix = f"put it below the line [{_TABLE}]" if name in _TYPES else f"remove it{_did_you_mean(name, [_TABLE])}"
            lines.refuse(lines.line_of_table(name), f"unknown {kind}", fix)
    if _TABLE not in document:
        lines.refuse(
            1, f"the table [{_TABLE}] is missing", f"write the line [{_TABLE}] above track, run, title, licence"
        )
    table = document[_TABLE]
    if not isinstance(table, dict):
        lines.refuse(
            lines.line_of_table(_TABLE), f"{_TABLE} is not a table", f"write the line [{_TABLE}], in single brackets"
        )
    return table


def _check_keys(table: dict[str, Any], lines: _Text) -> list[Refusal]:
    """Return what is wrong with the keys and the types of their values, in the order of the file.

    At most `_MOST_WRONG_KEYS` are listed: each is compared with the known ones, and a file has room for hundreds.
    """
    found: list[Refusal] = []
    renamed: set[str] = set()
    for key, value in table.items():
        if key not in _TYPES:
            # a misspelt key is one error, not a second one for the key that it should be
            renamed |= set(difflib.get_close_matches(key.lower(), list(_TYPES), n=1))
            problem, fix = f"unknown key {key!r}", f"remove it{_did_you_mean(key, _TYPES)}"
            found.append(lines.refusal(lines.line_of_key(key), problem, fix))
        elif type(value) is not _TYPES[key]:
            expected = "true or false" if _TYPES[key] is bool else "a string in double quotes"
            problem, fix = f"{key} must be {expected}", f"write for example: {_EXAMPLES[key]}"
            found.append(lines.refusal(lines.line_of_key(key), problem, fix))
        if len(found) == _MOST_WRONG_KEYS:
            return found
    where = lines.line_of_table(_TABLE)
    for key in _TYPES:
        if key not in table and key not in _OPTIONAL and key not in renamed:
            problem, fix = f"the key {key!r} is missing in [{_TABLE}]", f"add for example: {_EXAMPLES[key]}"
            found.append(lines.refusal(where, problem, fix))
    return found


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word.lower(), list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"


def _track(value: str, lines: _Text) -> TrackName:
    try:
        return TrackName(value)
    except ValueError:
        near = _did_you_mean(value, [str(track) for track in TrackName])
        lines.refuse(lines.line_of_key("track"), f"unknown track {value!r}", f"name one of the tracks{near}")


def _run(value: str, lines: _Text) -> tuple[str, ...]:
    line = lines.line_of_key("run")
    try:
        words = tuple(shlex.split(value))
    except ValueError:
        lines.refuse(line, f"the quotes or backslashes of run = {value!r} do not balance", "close every quote")
    if not words or not words[0]:
        lines.refuse(line, "run is empty", f"write the command that starts the player: {_EXAMPLES['run']}")
    if "\0" in value:
        lines.refuse(line, "run contains a NUL character", "remove it")
    shell = next((word for word in words if word in _SHELL_WORDS), None)
    if shell or re.match(r"[A-Za-z_]\w*=", words[0]):
        what = shell or words[0]
        lines.refuse(
            line, f"run contains {what!r}, but runs without a shell", "put it into a script, and run the script"
        )
    return words


def _title(value: str, lines: _Text) -> str:
    title = value.strip()
    line = lines.line_of_key("title")
    if not title:
        lines.refuse(line, "title is empty", f"write for example: {_EXAMPLES['title']}")
    if len(title) > MAX_TITLE_CHARACTERS:
        problem = f"title has {len(title)} characters"
        lines.refuse(line, problem, f"shorten it to {MAX_TITLE_CHARACTERS}; the rest belongs in README.md")
    if not title.isprintable():
        lines.refuse(line, "title contains a line break or a control character", "write one plain line")
    return title


def _licence(value: str, lines: _Text) -> str:
    try:
        licence = normal_licence(value)
    except ValueError as error:
        fix = "use an SPDX identifier (https://spdx.org/licenses), for example: " + _EXAMPLES["licence"]
        lines.refuse(lines.line_of_key("licence"), str(error), fix)
    if len(licence) > MAX_LICENCE_CHARACTERS:
        problem = f"licence has {len(licence):,} characters"
        lines.refuse(lines.line_of_key("licence"), problem, f"shorten it to {MAX_LICENCE_CHARACTERS}")
    return licence
