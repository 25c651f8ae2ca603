"""Layers that a build made, as files of this host, and the checks that they pass before anything is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.builder.image_archive import BuiltConfig, file_digest
from evaluation.builder.layer_check import DiskSpace, unpacked

_MAX_LAYERS = 125
"""Engines stack no more layers."""


@dataclass(frozen=True)
class Exported:
    """The result of a build: the checked part of its configuration, and the files of its own layers by name."""

    config: BuiltConfig
    layers: dict[str, Path]
    room: DiskSpace
    """What the limits of an image leave for further layers."""


class TooLargeError(Exception):
    """The image's own layers are larger than allowed."""


class UnreadableError(Exception):
    """The result of the build is not a readable image; the build or the host may be the cause."""


def check_layer_names(config: BuiltConfig, names: Sequence[str], base_layers: Sequence[str]) -> None:
    """Raise `UnreadableError` unless the layers of `config` are `names`, on the base image or on nothing."""
    if config.layers not in (tuple(names), (*base_layers, *names)):
        raise UnreadableError("the configuration names other layers than those of the build")
    if len(config.layers) > _MAX_LAYERS:
        raise UnreadableError(f"it has more than {_MAX_LAYERS} layers")


def check_layer(path: Path, name: str, room: DiskSpace, number: int) -> DiskSpace:
    """Return what the layer `name` in the file `path` leaves of `room`. Raise `TooLargeError` or `UnreadableError`."""
    if file_digest(path) != name:
        raise UnreadableError(f"layer {number} differs from the layer in the configuration")
    return room_after(path, room, number)


def room_after(path: Path, room: DiskSpace, number: int) -> DiskSpace:
    """Return what the layer in the file `path` leaves of `room`. Raise `TooLargeError` or `UnreadableError`."""
    try:
        with path.open("rb") as file:
            used = unpacked(file, most=room)
    except ValueError as error:
        raise UnreadableError(f"layer {number}: {error}") from error
    if not room.covers(used):
        raise TooLargeError
    return DiskSpace(room.files - used.files, room.bytes - used.bytes)
