"""Files of the host that a player in bubblewrap sees in its root, which is empty otherwise."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from evaluation.sandbox.player_environment import HOSTS
from evaluation.sandbox.state_directory import state_directory, write_atomically

DEVICES = ("nvidia*", "dri", "kfd", "dxg")
"""The names of GPU devices below /dev."""

_SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")))
_LINKS = tuple(place for place in _SYSTEM if place.is_symlink())
"""On most systems /bin and similar directories are links into /usr."""

_CONFIGURATION = tuple(
    Path("/etc") / name
    for name in (
        *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "timezone"),
        *("ssl/certs", "ssl/openssl.cnf"),
    )
)
_PROCESSORS = (Path("/sys/devices/system/cpu"), Path("/sys/devices/system/node"))
"""Where libraries read the number and type of processors."""

_FOR_GPUS = (Path("/sys"),)
"""Where drivers find GPUs."""

_ENGINE = Path(__file__).resolve().parent.parent

Mount = tuple[Path, Path | None]
"""A path in a player's root, and the host path mounted there read-only; None: an empty directory."""


def mounts(visible: Iterable[Path], hidden: Iterable[Path], *, devices: bool = False) -> list[Mount]:
    """Return the mounts of a player, outer paths first: the system, the interpreter and `visible`.

    If two of them contain a file, the inner one decides: a visible checkout in a `hidden` folder is shown, and a hidden
    folder in a visible one is not. The engine's own source is always hidden.
    """
    named = [*_SYSTEM, *_CONFIGURATION, *(_FOR_GPUS if devices else _PROCESSORS), *_interpreter()]
    shown = {place: place.resolve() for place in named if place.exists() and place not in _LINKS}
    shown = {place: source for place, source in shown.items() if place == source or not _is_below(place, shown)}
    shown |= {place: place for place in (path.resolve() for path in visible)}
    shown |= _identity()
    inside = dict(_inside(shown, [_ENGINE, *hidden]))
    return sorted([*shown.items(), *inside.items()], key=lambda mount: len(mount[0].parts))


def system_links() -> list[str]:
    """Return the arguments for the links that the host has, such as /bin to usr/bin."""
    return [word for place in _LINKS for word in ("--symlink", str(place.readlink()), str(place))]


def _is_below(place: Path, shown: Iterable[Path]) -> bool:
    """Return True if `place`, a link, is visible already under a directory in `shown`."""
    return any(place != outer and place.is_relative_to(outer) for outer in shown)


def _inside(shown: dict[Path, Path], hidden: Iterable[Path]) -> Iterator[Mount]:
    """Yield the mounts that cover hidden paths."""
    for path in dict.fromkeys(path.resolve() for path in hidden):
        above = {path, *path.parents}
        for place, source in shown.items():
            if source in above and path.exists():
                yield place / path.relative_to(source), None if path.is_dir() else Path(os.devnull)


def _interpreter() -> Sequence[Path]:
    """Return the installations of the current interpreter, under each path that it uses."""
    program, found = Path(sys.executable), [Path(sys.prefix), Path(sys.base_prefix)]
    found.append(program.parent.parent)
    while program.is_symlink():  # a virtual environment's python is a link into another installation
        program = Path(os.path.normpath(program.parent / program.readlink()))
        found.append(program.parent.parent)
    found += [place.resolve() for place in found]
    library = f"lib/python{sys.version_info.major}.{sys.version_info.minor}"
    return [place for place in dict.fromkeys(found) if place != Path("/") and (place / library).is_dir()]


def _identity() -> dict[Path, Path]:
    """Return files that define only the player's user and the host name localhost."""
    folder = state_directory("player-etc")
    files = {
        "passwd": f"player:x:{os.getuid()}:{os.getgid()}::/tmp:/bin/sh\n",
        "group": f"player:x:{os.getgid()}:\n",
        "hosts": HOSTS,
    }
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text)
    return {Path("/etc") / name: folder / name for name in files}
