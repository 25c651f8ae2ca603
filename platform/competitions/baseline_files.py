"""The files of a track's baselines: submissions that are bundled, and those that organisers keep in directories."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings

from competitions.bundled_baselines import bundled_digest, bundled_repository
from competitions.kept_baseline_directories import digest_of_directory, keep_directory, unpack_directory
from competitions.models import Track
from core.errors import Refusal


class BaselineFiles(Protocol):
    """What a baseline is built from."""

    @property
    def digest(self) -> str:
        """The digest of the tree of its files, see `tree_digest`."""

    def repository(self) -> Path:
        """Return the directory of its files on this host. Raise `Fault` if they are lost."""


@dataclass(frozen=True)
class OwnBaseline:
    """A directory that an organiser listed as a baseline, as it was at its first import."""

    directory: str
    archive: str
    digest: str

    def repository(self) -> Path:
        """Return its files on this host; they are unpacked again if anything in them changed."""
        folder: Path = settings.CHECKOUTS / f"baseline-{self.archive}"
        if digest_of_directory(folder) != self.digest:
            shutil.rmtree(folder, ignore_errors=True)
            unpack_directory(self.archive, folder)
        os.utime(folder)
        return folder


def is_directory(listed: str) -> bool:
    """Return whether a name that a file lists as a baseline is that of a directory."""
    return "/" in listed


def own_baseline(track: Track, name: str) -> OwnBaseline | None:
    """Return the organisers' baseline of that name; None if it is a bundled one."""
    stored = track.own_baselines.get(name)
    return OwnBaseline(**stored) if stored else None


def baseline_files(track: Track, name: str) -> BaselineFiles:
    """Return the files of a baseline. Raise `Fault` if there is none of that name."""
    return own_baseline(track, name) or bundled_repository(track.name, name)


def baseline_digest(track: Track, name: str) -> str:
    """Return the digest of the files of a baseline; "" if this version bundles none of that name."""
    own = own_baseline(track, name)
    return own.digest if own else bundled_digest(track.name, name)


def keep_baseline(directory: str) -> OwnBaseline:
    """Store a directory. Raise `Refusal` for a file that no submission may have."""
    source = Path(directory).expanduser()
    return OwnBaseline(directory, keep_directory(source), digest_of_directory(source))


def with_own_baselines(before: Mapping[str, Any], given: Mapping[str, OwnBaseline]) -> dict[str, Any]:
    """Return the column of a track with the baselines that a file gives; earlier ones stay, since matches name them.

    Raise `Refusal` if one of that name was imported with other files: its results are those of the earlier files.
    """
    for name, new in given.items():
        if name in before and before[name]["digest"] != new.digest:
            raise Refusal(
                f"{new.directory} holds other files than at the import of {name!r}",
                fix="give the directory of the new version another name",
            )
    return {**before, **{name: asdict(each) for name, each in given.items()}}
