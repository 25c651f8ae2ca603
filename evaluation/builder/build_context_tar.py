"""Build contexts: the tar stream that a Docker client sends to its engine."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from evaluation.builder.allowed_submission_files import tree_entries


@dataclass(frozen=True)
class ContextEntry:
    """One member of a context: a file of this host, bytes, a symbolic link, or a directory."""

    name: str
    content: Path | bytes = b""
    executable: bool = False
    link: str | None = None
    is_directory: bool = False


def tree_context(source: Path, below: str = "") -> Iterator[ContextEntry]:
    """Yield the files of the submission `source`, under the directory `below` of the context."""
    for entry in tree_entries(source):
        yield ContextEntry(
            name=os.path.join(below, entry.path),  # noqa: PTH118 - a name in the archive, not a path of this host
            content=source / entry.path,
            executable=entry.executable,
            link=entry.link,
        )


def with_directories(entries: Iterable[ContextEntry]) -> Iterator[ContextEntry]:
    """Yield `entries`, each directory before what is in it: engines differ in the mode of one that is only implied."""
    seen = {PurePosixPath()}
    for entry in entries:
        for directory in reversed(PurePosixPath(entry.name).parents):
            if directory not in seen:
                seen.add(directory)
                yield ContextEntry(str(directory), is_directory=True)
        yield entry


def write_context(entries: Iterable[ContextEntry], target: IO[bytes]) -> None:
    """Write `entries` as a reproducible tar archive: no times, no owners, git's modes."""
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in entries:
            member = tarfile.TarInfo(entry.name)
            member.mode = 0o755 if entry.executable or entry.is_directory else 0o644
            if entry.link is not None:
                member.type, member.linkname = tarfile.SYMTYPE, entry.link
                archive.addfile(member)
            elif entry.is_directory:
                member.type = tarfile.DIRTYPE
                archive.addfile(member)
            elif isinstance(entry.content, bytes):
                member.size = len(entry.content)
                archive.addfile(member, io.BytesIO(entry.content))
            else:
                with entry.content.open("rb") as file:
                    member.size = os.fstat(file.fileno()).st_size
                    archive.addfile(member, file)
