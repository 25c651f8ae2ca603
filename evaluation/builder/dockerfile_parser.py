"""Strict parser of Dockerfiles: what engines read in different ways is refused. Pure.

Engines differ in heredocs (older ones read their lines as instructions) and in a doubled backslash at the end of a
line; a frontend named by `# syntax` may read anything. The parser does not guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evaluation.domain.errors import BuildRefusal

MAX_DOCKERFILE_BYTES = 256 << 10

_NAMES = (
    "ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "MAINTAINER", "RUN",
    "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR",
)  # fmt: skip

INSTRUCTIONS = frozenset(_NAMES)
"""Without `ONBUILD`: its content runs in a later build, which is the site's."""

_DIRECTIVE = re.compile(r"#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(.*?)\s*")
_CONTINUED = re.compile(r"\\[ \t]*$")
_DOUBLED = re.compile(r"\\\\[ \t]*$")
_FLAG = re.compile(r"--([a-z-]+)(?:=(\S*))?(?:\s+|$)")


@dataclass(frozen=True)
class Instruction:
    """One instruction: its first line, from 1, its name in capitals, its flags without dashes, and the rest."""

    line: int
    name: str
    flags: tuple[tuple[str, str], ...]
    rest: str


def read_dockerfile(content: bytes, *, name: str) -> list[Instruction]:
    """Return the instructions of a Dockerfile, called `name` in messages. Raise `BuildRefusal` with the line."""
    return list(_Reader(name).instructions(content))


def refusal(name: str, line: int, problem: str, fix: str) -> BuildRefusal:
    """Return the refusal for a problem in `line` of the Dockerfile `name`."""
    return BuildRefusal(f"{name}, line {line}: {problem}", fix=fix)


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name

    def instructions(self, content: bytes) -> Iterator[Instruction]:
        lines = self._lines(content)
        self._check_directives(lines)
        at = 0
        while at < len(lines):
            first, text = at + 1, lines[at].strip()
            at += 1
            if not text or text.startswith("#"):
                continue
            text, at = self._joined(lines, first)
            # a lone backslash continues with nothing
            if text := text.strip():
                yield self._instruction(first, text)

    def _lines(self, content: bytes) -> list[str]:
        if len(content) > MAX_DOCKERFILE_BYTES:
            raise BuildRefusal(
                f"{self._name} is larger than {MAX_DOCKERFILE_BYTES >> 10} KiB",
                fix="put long scripts into separate files and COPY them",
            )
        try:
            lines = content.decode().replace("\r\n", "\n").split("\n")
        except UnicodeDecodeError as error:
            raise BuildRefusal(f"{self._name}: not UTF-8 text", fix="save the file as UTF-8") from error
        for number, line in enumerate(lines, 1):
            if not line.replace("\t", "").isprintable():
                raise refusal(
                    self._name,
                    number,
                    "contains a control character, an invisible character or a special space",
                    "remove it, and save the file without a byte order mark",
                )
        return lines

    def _check_directives(self, lines: list[str]) -> None:
        """Refuse directives in comments before the first instruction; engines differ in which comments they read."""
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if text and not text.startswith("#"):
                return
            if found := _DIRECTIVE.fullmatch(text):
                directive, value = found[1].lower(), found[2]
                if directive == "syntax":
                    raise refusal(
                        self._name,
                        number,
                        f"# syntax names the image {value!r} to read this file with, which is not allowed",
                        "remove the line: the engine reads the file itself",
                    )
                if directive == "escape" and value != "\\":
                    raise refusal(
                        self._name,
                        number,
                        f"# escape={value} replaces the backslash at the end of continued lines, which is not allowed",
                        "remove the line and end continued lines with a backslash",
                    )

    def _joined(self, lines: list[str], first: int) -> tuple[str, int]:
        """Return the whole instruction that begins in line `first`, and the number of its last line."""
        parts: list[str] = []
        for number, line in enumerate(lines[first - 1 :], first):
            if parts and (not line.strip() or line.lstrip().startswith("#")):
                continue  # comments and empty lines do not end a continued instruction
            if _DOUBLED.search(line):
                raise refusal(
                    self._name,
                    number,
                    "the line ends with two backslashes",
                    "end a continued line with one backslash, other lines with none",
                )
            parts.append(_CONTINUED.sub("", line))
            if not _CONTINUED.search(line):
                return "".join(parts), number
        return "".join(parts), len(lines)

    def _instruction(self, line: int, text: str) -> Instruction:
        word, *rest = re.split(r"[ \t]+", text, maxsplit=1)
        name, remaining = word.upper(), rest[0] if rest else ""
        if not word.isascii() or name not in INSTRUCTIONS:
            problem = "ONBUILD is not allowed" if name == "ONBUILD" else f"{word[:40]!r} is not a known instruction"
            raise refusal(self._name, line, problem, f"use {', '.join(sorted(INSTRUCTIONS))}")
        if name in ("RUN", "COPY", "ADD") and "<<" in remaining:
            raise refusal(
                self._name,
                line,
                "<< may start a heredoc, which engines read in different ways",
                "put the lines into a file of the repository and COPY it, or join the commands with &&",
            )
        flags: list[tuple[str, str]] = []
        if name in ("RUN", "COPY", "ADD", "FROM"):
            flags, remaining = self._flags(line, name, remaining)
        return Instruction(line, name, tuple(flags), remaining)

    def _flags(self, line: int, name: str, text: str) -> tuple[list[tuple[str, str]], str]:
        flags = []
        while text.startswith("--"):
            found = _FLAG.match(text)
            if found is None or set(found[0]) & set("\"'\\"):
                raise refusal(
                    self._name,
                    line,
                    f"the flag {text.split()[0][:80]!r} of {name} is not readable",
                    "write flags as --name=value, without quotes or backslashes",
                )
            flags.append((found[1], found[2] or ""))
            text = text[found.end() :]
        return flags, text
