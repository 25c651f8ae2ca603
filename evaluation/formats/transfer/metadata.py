"""`metadata.json`, the manifest of a submission of 2017: its type, container and entry point."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from evaluation.domain.errors import ManifestRefusal
from evaluation.formats.transfer.rules import TransferTrack
from evaluation.parsing.limited_process import Fields, ask_once

METADATA_NAME = "metadata.json"
MAX_METADATA_BYTES = 64 << 10

_SECONDS, _MEMORY_BYTES = 5, 1 << 30
"""Limits of the process that reads a manifest."""

_SHORT_BYTES = 4 << 10
"""A manifest of at most this size is parsed without such a process, whatever it holds.

JSON is read in one pass. What costs more than its length, digits of a number and depth, has limits of Python's: the
digits' square is small at this size, and too deep a nesting is a `RecursionError`.
"""

_START_BYTES = 1024
"""What is read of an entry point."""

OWN_CONTAINER = "gauntlet-base"
"""The container of submissions that are written for current packages; every other one is of 2017."""

_TRACKS = {
    "attack": TransferTrack.ATTACK,
    "targeted_attack": TransferTrack.TARGETED_ATTACK,
    "defense": TransferTrack.DEFENCE,
}


def _example(kind: str = "attack", container: str = OWN_CONTAINER, entry_point: str = "run_attack.sh") -> str:
    return f'{{"type": "{kind}", "container": "{container}", "entry_point": "{entry_point}"}}'


_EXAMPLE = _example()
_EXAMPLES = {
    "run_defense.sh": _example("defense", entry_point="run_defense.sh"),
    "run.sh": f"{_example('defense', 'aaac-2019', 'run.sh')} is that of a defence of IJCAI 2019, whose attacks need an "
    "entry point, too (docs/submissions-2017.md, A submission of 2019)",
}
"""What a repository with this entry point lacks, if it is no attack of 2017."""


@dataclass(frozen=True)
class Metadata:
    """The content of a `metadata.json`, checked. `container` is the image that the submission was written for.

    Title and licence are optional keys that 2017 did not have.
    """

    track: TransferTrack
    entry_point: str
    container: str
    gpu: bool = False
    title: str = ""
    licence: str = ""


def read_metadata(source: Path) -> Metadata:
    """Read and check `source/metadata.json` and its entry point. Raise `ManifestRefusal` with the cause and the fix."""
    path = source / METADATA_NAME
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise ManifestRefusal(f"{METADATA_NAME} is not a plain file", fix="replace it by a plain text file")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_METADATA_BYTES + 1)
    except FileNotFoundError:
        raise missing_metadata(str(source), [name for name in _EXAMPLES if (source / name).exists()]) from None
    metadata = parse_within_limits(content)
    _check_entry_point(source, metadata.entry_point)
    return metadata


def missing_metadata(where: str, files: Collection[str]) -> ManifestRefusal:
    """Return the refusal of a submission with `files` and without a manifest."""
    example = next((text for name, text in _EXAMPLES.items() if name in files), _EXAMPLE)
    return ManifestRefusal(
        f"{METADATA_NAME} is missing in {where}", fix=f"add it at the top of the repository: {example}"
    )


@lru_cache(maxsize=256)
def parse_within_limits(content: bytes) -> Metadata:
    """Return `parse_metadata` of a stranger's bytes, in a process with limits unless they are short.

    What exceeds them is a `BuildRefusal`. A manifest is read at each start of its player, so the last ones are kept.
    """
    if len(content) <= _SHORT_BYTES:
        return parse_metadata(content)
    limits = {"seconds": _SECONDS, "memory_bytes": _MEMORY_BYTES}
    fields, _ = ask_once(f"{__name__}:parse_request", {}, content, what=METADATA_NAME, **limits)
    return Metadata(**fields | {"track": TransferTrack(fields["track"])})


def parse_request(_: Fields, content: bytes) -> tuple[Fields, bytes]:
    """Answer a request of `parse_within_limits`."""
    return asdict(parse_metadata(content)), b""


def parse_metadata(content: bytes) -> Metadata:
    """Parse and check the bytes of a `metadata.json` in this process. Raise `ManifestRefusal`.

    Like the toolkit of 2017 it does not need `container_gpu`, which says that the submission can use a GPU; keys that
    nobody reads are allowed.
    """
    if len(content) > MAX_METADATA_BYTES:
        raise ManifestRefusal(f"{METADATA_NAME} is larger than {MAX_METADATA_BYTES:,} bytes", fix=f"write {_EXAMPLE}")
    try:
        document = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ManifestRefusal(f"{METADATA_NAME} is not valid JSON: {error}", fix=f"write {_EXAMPLE}") from None
    if not isinstance(document, dict):
        raise ManifestRefusal(f"{METADATA_NAME} is not a JSON object", fix=f"write {_EXAMPLE}")
    kind = _text(document, "type")
    if kind not in _TRACKS:
        raise ManifestRefusal(f"{METADATA_NAME}: unknown type {kind!r}", fix=f"write one of: {', '.join(_TRACKS)}")
    return Metadata(
        track=_TRACKS[kind],
        entry_point=_entry_point(_text(document, "entry_point")),
        container=_text(document, "container"),
        gpu=bool(document.get("container_gpu")),
        title=_text(document, "title", most=120) if "title" in document else "",
        licence=_text(document, "licence", most=200) if "licence" in document else "",
    )


def _text(document: dict[str, Any], key: str, most: int = 4096) -> str:
    value = document.get(key)
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > most:
        what = "is missing" if key not in document else f"is not a text of one line with at most {most:,} characters"
        raise ManifestRefusal(f"{METADATA_NAME}: {key} {what}", fix=f"write for example: {_EXAMPLE}")
    return value


def _entry_point(value: str) -> str:
    """Return the entry point as a path in the repository."""
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ManifestRefusal(
            f"{METADATA_NAME}: the entry point {value!r} is outside of the repository",
            fix="name a script by its path in the repository, such as run_attack.sh",
        )
    return str(path)


def _check_entry_point(source: Path, entry_point: str) -> None:
    """Refuse an entry point that certainly cannot start."""
    path = source / entry_point
    found = os.path.lexists(path)  # False for a name that is too long for a file
    if found and not path.resolve().is_relative_to(source.resolve()):
        raise ManifestRefusal(f"the entry point {entry_point} leads outside of the repository", fix="copy the file")
    content = None
    if found and path.is_file():
        with path.open("rb") as file:
            content = file.read(_START_BYTES)
    check_start(entry_point, content)


def executable_line(entry_point: str) -> str:
    """Return the line of a log, or of an answer to a push, on an entry point without its executable bit."""
    return f"{entry_point} is not executable in git, and is made so for each run"


def check_start(entry_point: str, content: bytes | None) -> None:
    """Raise `ManifestRefusal` for an entry point that certainly cannot start.

    Its executable bit is not asked for: git and archives lose it, and each run sets it. `content` is the beginning of
    the file, at least its first line; None if there is no such file.
    """
    if content is None:
        raise ManifestRefusal(
            f"the entry point {entry_point} is not in the repository",
            fix=f"add it, or correct entry_point in {METADATA_NAME}",
        )
    if not content.startswith((b"#!", b"\x7fELF")):
        raise ManifestRefusal(
            f"the entry point {entry_point} does not say which interpreter runs it",
            fix="begin it with a line such as #!/bin/bash",
        )
    first = content.split(b"\n", 1)[0]
    if first.startswith(b"#!") and first.endswith(b"\r"):
        raise ManifestRefusal(
            f"the entry point {entry_point} has Windows line ends, so its interpreter is not found",
            fix="save it with Unix line ends",
        )
