"""Last exception of a player's own code, parsed from its output. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from evaluation.builder.lean_build_steps import SDK_DIRECTORY, WORK_DIRECTORY

MOST_CHARACTERS = 300
"""The number of characters quoted from an exception's message."""

_FRAME = re.compile(r'[\s|]*File "(?P<file>[^"]+)", line (?P<line>[0-9]+)')
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?::\s.*)?")
_LIBRARIES = re.compile(r"/(?:site-packages|dist-packages)/|/lib/python[0-9.]+/|^" + re.escape(SDK_DIRECTORY) + "/")


@dataclass(frozen=True)
class LastException:
    """The last exception of an output: its last line, and the innermost position in the player's own files, if any."""

    exception: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.exception} ({self.file}, line {self.line})" if self.file else self.exception


def last_exception(output: str, directory: Path | None) -> LastException | None:
    """Return the last exception with a Python traceback in `output`, None if there is none.

    `directory` holds the player's files; it is None for an image, where they are in `/submission` or elsewhere.
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
    """Return `file` relative to the repository, "" if it is not a file of the player."""
    if file.startswith("<"):
        return ""
    roots = (WORK_DIRECTORY,) if directory is None else (str(directory), str(directory.resolve()))
    for root in roots:
        if file.startswith(f"{root}/"):
            below = file.removeprefix(f"{root}/")
            return "" if _LIBRARIES.search(f"/{below}") else below
    if not file.startswith("/"):  # of the player, or of a library whose place on this host is hidden
        return "" if _LIBRARIES.search(f"/{file}") else file.removeprefix("./")
    return "" if directory is not None or _LIBRARIES.search(file) or file.startswith("/usr/") else file
