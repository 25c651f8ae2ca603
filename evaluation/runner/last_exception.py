"""Where a player's own code raised: read from what it printed. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from evaluation.builder.lean_pack import SDK_DIRECTORY, WORK_DIRECTORY

MOST_CHARACTERS = 300
"""How much of an exception's message is quoted."""

_FRAME = re.compile(r'[\s|]*File "(?P<file>[^"]+)", line (?P<line>[0-9]+)')
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?::\s.*)?")
_LIBRARIES = re.compile(r"/(?:site-packages|dist-packages)/|/lib/python[0-9.]+/|^" + re.escape(SDK_DIRECTORY) + "/")


@dataclass(frozen=True)
class LastException:
    """The last exception of an output: its last line, and the innermost place in the player's own files, if any."""

    exception: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.exception} ({self.file}, line {self.line})" if self.file else self.exception


def last_exception(output: str, directory: Path | None) -> LastException | None:
    """The last exception whose traceback of Python stands in `output`; None where there is none.

    directory: where the player's files lie; None for an image, where that is `/submission` or a place of its own.
    """
    found = None
    frames: list[tuple[str, int]] = []
    for line in output.splitlines():
        frame = _FRAME.match(line)
        if frame:
            frames.append((frame["file"], int(frame["line"])))
        elif frames and line and not line[0].isspace() and line[0] not in "|+":
            if _EXCEPTION.fullmatch(line):
                found = _raised(line, frames, directory)
            frames = []
    return found


def _raised(exception: str, frames: list[tuple[str, int]], directory: Path | None) -> LastException:
    if len(exception) > MOST_CHARACTERS:
        exception = exception[:MOST_CHARACTERS] + " ..."
    for file, line in reversed(frames):
        own = _own(file, directory)
        if own:
            return LastException(exception, own, line)
    return LastException(exception)


def _own(file: str, directory: Path | None) -> str:
    """`file` as the repository calls it, "" where it is none of the player's own."""
    if file.startswith("<"):
        return ""
    roots = (WORK_DIRECTORY,) if directory is None else (str(directory), str(directory.resolve()))
    for root in roots:
        if file.startswith(f"{root}/"):
            below = file.removeprefix(f"{root}/")
            return "" if _LIBRARIES.search(f"/{below}") else below
    if not file.startswith("/"):
        return file.removeprefix("./")
    return "" if directory is not None or _LIBRARIES.search(file) or file.startswith("/usr/") else file
