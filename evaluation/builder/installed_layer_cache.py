"""Cache of what the installing steps of lean builds gave, for each owner alone, on this host.

An entry is a directory `OWNER/KEY` with the layers and a description. The site makes it of an image that it has checked
and loaded, and no build sees it. It appears and goes as a whole, and is checked at each use as a new one is.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from evaluation.builder.base import LogLine
from evaluation.builder.build_limits import LEAST_FREE_BYTES, LEAST_FREE_FILES, free_space
from evaluation.builder.docker_build_settings import CacheLimits
from evaluation.builder.exported_layers import Exported, UnreadableError, check_layer, check_layer_names
from evaluation.builder.image_archive import read_config, read_layer_names
from evaluation.builder.layer_check import DiskSpace

_DESCRIPTION = "description"
"""Its digest, the configuration and the names of the layers, a line each. Its time is that of the installation."""

_PARTIAL = "."
"""How the names of entries start that are not complete, or no longer."""

_PARTIAL_SECONDS = 24 * 3600.0
"""When the rest of a process that was killed is removed."""


@dataclass(frozen=True)
class _CacheEntry:
    place: Path
    bytes: int
    made_at: float
    used_at: float


@dataclass(frozen=True)
class InstalledLayerCache:
    """The entries of one owner, a team or the user of a laptop, below the `folder` of all."""

    folder: Path
    owner: str
    limits: CacheLimits

    def find(
        self, key: str, *, base_layers: Sequence[str], room: DiskSpace, into: Path, on_log: LogLine
    ) -> Exported | None:
        """Return the entry `key` with its layers as files of the directory `into`; None if there is none.

        Say in the log which one is used. What is damaged is removed, with a line of the log. Raise `TooLargeError` if
        the layers are larger than `room`.
        """
        place = self.folder / self.owner / key
        try:
            made_at = (place / _DESCRIPTION).stat().st_mtime
        except OSError:
            _remove(place)  # of a damaged one, which would stay in the way
            return None
        if self._is_old(made_at):
            _remove(place)
            return None
        try:
            found = _read(place, base_layers, room, into)
            os.utime(place)
        except (OSError, ValueError, UnreadableError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else problem
            on_log(f"the kept layer of these requirements is damaged ({reason}): they are installed again")
            _remove(place)
            return None
        made = datetime.fromtimestamp(made_at, UTC)
        on_log(f"requirements unchanged: installed layer of {made:%Y-%m-%d %H:%M} UTC reused")
        return found

    def put(self, key: str, installed: Exported, *, on_log: LogLine) -> None:
        """Keep `installed` as the entry `key`, and remove what exceeds the limits. A full disk is a line of the log."""
        size = sum(path.stat().st_size for path in installed.layers.values())
        if size > min(self.limits.bytes, self.limits.team_bytes):
            return
        place = self.folder / self.owner / key
        partial = place.with_name(f"{_PARTIAL}{uuid.uuid4().hex}")
        try:
            partial.mkdir(parents=True)
            if not free_space(partial).covers(DiskSpace(2 * LEAST_FREE_FILES, 2 * LEAST_FREE_BYTES + size)):
                on_log("the disk has too little room to keep the installed layer")
                return
            _write(partial, installed)
            with suppress(OSError):  # another build of this owner was faster: its entry is as good
                partial.rename(place)
        except OSError as error:
            on_log(f"the installed layer could not be kept: {error.strerror}")
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        sweep_installed_layers(self.folder, self.limits)

    def _is_old(self, made_at: float) -> bool:
        return made_at < time.time() - self.limits.days * 24 * 3600


def sweep_installed_layers(folder: Path, limits: CacheLimits) -> int:
    """Remove the entries of all owners that are too old, and those unused longest above the limits; return how many."""
    entries = sorted(_entries(folder), key=lambda entry: entry.used_at, reverse=True)
    oldest = time.time() - limits.days * 24 * 3600
    removed, used = 0, 0
    used_of: dict[Path, int] = {}
    for entry in entries:
        owner = entry.place.parent
        total, own = used + entry.bytes, used_of.get(owner, 0) + entry.bytes
        if entry.made_at < oldest or total > limits.bytes or own > limits.team_bytes:
            removed += _remove(entry.place)
        else:
            used, used_of[owner] = total, own
    return removed


def _entries(folder: Path) -> Iterator[_CacheEntry]:
    """Yield the complete entries; remove damaged ones, and what killed processes left."""
    for place in folder.glob("*/*"):
        with suppress(OSError):  # another process removed it meanwhile
            used_at = place.stat().st_mtime
            if place.name.startswith(_PARTIAL):
                if used_at < time.time() - _PARTIAL_SECONDS:
                    shutil.rmtree(place, ignore_errors=True)
            elif not (place / _DESCRIPTION).exists():
                _remove(place)
            else:
                made_at = (place / _DESCRIPTION).stat().st_mtime
                yield _CacheEntry(place, sum(file.stat().st_size for file in place.iterdir()), made_at, used_at)


def _read(place: Path, base_layers: Sequence[str], room: DiskSpace, into: Path) -> Exported:
    """Return the entry at `place`. Raise `OSError`, `ValueError` or `UnreadableError` if it is damaged."""
    digest, _, described = (place / _DESCRIPTION).read_bytes().partition(b"\n")
    if hashlib.sha256(described).hexdigest().encode() != digest:
        raise ValueError("its description is another one")
    first, _, second = described.partition(b"\n")
    config, names = read_config(first), read_layer_names(second)
    check_layer_names(config, names, base_layers)
    layers = {}
    for number, name in enumerate(names):
        layers[name] = into / f"{number}.tar"
        # its own name: the file stays where a sweep removes the entry meanwhile
        _link(place / f"{number}.tar", layers[name])
        room = check_layer(layers[name], name, room, number)
    return Exported(config, layers, room)


def _write(place: Path, installed: Exported) -> None:
    config = installed.config
    document = {
        "rootfs": {"diff_ids": config.layers},
        "config": {
            "Env": config.environment,
            "WorkingDir": config.directory,
            "Volumes": dict.fromkeys(config.volumes),
        },
    }
    described = f"{json.dumps(document)}\n{json.dumps(list(installed.layers))}".encode()
    digest = hashlib.sha256(described).hexdigest().encode()
    (place / _DESCRIPTION).write_bytes(digest + b"\n" + described)
    for number, path in enumerate(installed.layers.values()):
        _link(path, place / f"{number}.tar")


def _link(file: Path, target: Path) -> None:
    try:
        target.hardlink_to(file)
    except OSError:  # on another file system
        shutil.copyfile(file, target)


def _remove(place: Path) -> bool:
    """Remove an entry, at once for all readers. Return False if another process did."""
    going = place.with_name(f"{_PARTIAL}{uuid.uuid4().hex}")
    try:
        place.rename(going)
    except OSError:
        return False
    shutil.rmtree(going, ignore_errors=True)
    return True
