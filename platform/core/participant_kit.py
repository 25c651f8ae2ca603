"""The kit of participants: wheels of this program's command and SDK, in the folder that `make kit` fills."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from functools import lru_cache
from pathlib import Path
from typing import IO

from django.conf import settings

COMMAND, SDK = "gauntlet-arena", "gauntlet-sdk"
"""The projects of the kit: the command with all it needs of this program, and what players import by itself."""

_PINS, _PACKAGES = "constraints.txt", "packages.txt"


@dataclass(frozen=True)
class Wheel:
    """A wheel of the kit: its name as a file, and what its metadata says."""

    name: str
    project: str
    version: str
    python: str
    """The versions of Python that it is for, such as ">=3.11"."""
    size: int
    sha256: str

    @property
    def key(self) -> str:
        """A part of its address, which differs for every content: caches may keep it for ever."""
        return self.sha256[:16]


@dataclass(frozen=True)
class Kit:
    """What is in the folder; `wheels` by the name of the project."""

    wheels: Mapping[str, Wheel]
    pins: str
    """The versions of packages with which the site runs players, as constraints of pip."""
    packages: str
    """The packages that the command needs, with hashes, as requirements of pip."""
    folder: Path

    @property
    def command(self) -> Wheel:
        """The wheel of the command."""
        return self.wheels[COMMAND]

    def open(self, wheel: Wheel) -> IO[bytes]:
        """Open a wheel."""
        return (self.folder / wheel.name).open("rb")


def kit() -> Kit | None:
    """Return the kit of this site, None where it has none or an incomplete one."""
    try:
        return _read(settings.KIT, settings.KIT.stat().st_mtime_ns)
    except (OSError, LookupError, ValueError, zipfile.BadZipFile):
        return None


@lru_cache(maxsize=1)
def _read(folder: Path, changed: int) -> Kit:
    """Return what is in `folder`, which was changed at that time."""
    wheels = {wheel.project: wheel for wheel in map(_wheel, sorted(folder.glob("*.whl")))}
    if wheels.keys() != {COMMAND, SDK}:
        raise LookupError(f"{folder} has not the two wheels of a kit")
    pins, packages = ((folder / name).read_text(encoding="utf-8") for name in (_PINS, _PACKAGES))
    return Kit(wheels, pins, packages, folder)


def _wheel(file: Path) -> Wheel:
    content = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        about = HeaderParser().parsestr(archive.read(metadata).decode())
    return Wheel(
        name=file.name,
        project=about["Name"],
        version=about["Version"],
        python=about["Requires-Python"],
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )
