"""Images as files: a configuration that the site writes, and layers named by the digest of their content.

The identity of an image is the digest of its configuration, which names its layers: equal identities are equal files.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from evaluation.builder.build_context_tar import ContextEntry, write_context
from evaluation.builder.chunks_as_file import FileStream
from evaluation.builder.lean_build_steps import PLAYER_USER, SDK_DIRECTORY
from evaluation.domain.errors import BuildRefusal, Fault

DIGEST_LABEL = "gauntlet.digest"
"""The label of a player's image: the whole digest of its recipe."""

BASE_LAYERS_LABEL = "gauntlet.base-layers"
"""The label of a player's image: how many of its layers are those of its base image. Older images have none."""

DETERMINED_LABEL = "gauntlet.determined"
"""The label of a player's image whose content its recipe alone decides: nothing was run that could change a file."""

_LAYER = re.compile("sha256:[0-9a-f]{64}")
_MAX_ENVIRONMENT_BYTES = 64 << 10
_BLOCK = tarfile.BLOCKSIZE
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class ImageArchive:
    """An image as files: `config` is its configuration, `layers` the files of the layers that are not elsewhere."""

    config: bytes
    layers: Mapping[str, Path]

    @property
    def identity(self) -> str:
        """The engine's id of the image: `sha256:` and the digest of its configuration."""
        return f"sha256:{hashlib.sha256(self.config).hexdigest()}"


def layer_names(config: bytes) -> list[str]:
    """Return the layers that an image's configuration names, the lowest first."""
    names: list[str] = json.loads(config)["rootfs"]["diff_ids"]
    return names


def own_layers(config: bytes) -> list[str]:
    """Return the layers of a player's image on top of its base image; none of an older image, which does not say."""
    names = layer_names(config)
    return names[int(_labels(config).get(BASE_LAYERS_LABEL, len(names))) :]


def is_determined(config: bytes) -> bool:
    """Return True if another build of the same recipe has the same content as the image of this configuration."""
    return DETERMINED_LABEL in _labels(config)


def _labels(config: bytes) -> dict[str, str]:
    return json.loads(config).get("config", {}).get("Labels") or {}


def holds_directories_only(layer: Path) -> bool:
    """Return True if a layer has no file, as that of a step which found everything installed."""
    with tarfile.open(layer) as archive:
        return all(member.isdir() for member in archive)


@dataclass(frozen=True)
class BuiltConfig:
    """The checked part of a build's configuration, which may hold anything."""

    layers: tuple[str, ...]
    environment: tuple[str, ...] = ()
    directory: str = ""
    volumes: tuple[str, ...] = ()


def read_config(content: bytes) -> BuiltConfig:
    """Read an image's configuration. Raise `ValueError` if it is invalid."""
    document = _parsed(content)
    inner = _table(_table(document).get("config"))
    directory = inner.get("WorkingDir") or ""
    layers = _names(_table(_table(document).get("rootfs")).get("diff_ids"))
    environment = _names(inner.get("Env"))
    if not isinstance(directory, str) or not (directory == "" or directory.startswith("/")):
        raise ValueError("its working directory is not an absolute path")
    if not all(_LAYER.fullmatch(name) for name in layers):
        raise ValueError("a layer is not named by a digest")
    if any("\0" in text or "=" not in text for text in environment):
        raise ValueError("its environment is not readable")
    return BuiltConfig(layers, environment, directory, tuple(_table(inner.get("Volumes"))))


def read_layer_names(content: bytes) -> tuple[str, ...]:
    """Read a list of layers' names. Raise `ValueError` if it is invalid."""
    return _names(_parsed(content))


def _parsed(content: bytes) -> object:
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _names(value: object) -> tuple[str, ...]:
    """Return a list of strings, empty for None. Raise `ValueError` for anything else."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError("a list of strings is expected")
    return tuple(value)


def _table(value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("an object is expected")
    return value


def compose_config(
    built: BuiltConfig,
    layers: Sequence[str],
    *,
    digest: str,
    architecture: str,
    made_at: datetime,
    base_layers: Sequence[str] = (),
    determined: bool = False,
) -> bytes:
    """Return the configuration of a player's image, made from that of the build.

    The environment and the working directory are kept. The site sets user, command, labels and the rest; the history,
    which would hold build arguments, is left out. Raise `BuildRefusal`.
    """
    if built.volumes:
        raise BuildRefusal(
            f"the Dockerfile (or its base) declares VOLUME {', '.join(sorted(built.volumes))}, which is not allowed",
            fix="remove VOLUME, and write to /tmp in a match",
        )
    environment = dict(entry.partition("=")[::2] for entry in built.environment)
    environment |= {"HOME": "/tmp", "PYTHONUNBUFFERED": "1"}  # noqa: S108 - a private file system of the player
    paths = [SDK_DIRECTORY, *filter(None, environment.get("PYTHONPATH", "").split(":"))]
    environment["PYTHONPATH"] = ":".join(dict.fromkeys(paths))
    lines = [f"{name}={value}" for name, value in environment.items()]
    if sum(map(len, lines)) > _MAX_ENVIRONMENT_BYTES:
        raise BuildRefusal(
            f"the image's environment variables are larger than {_MAX_ENVIRONMENT_BYTES >> 10} KiB",
            fix="set fewer or shorter variables with ENV, and put data into files",
        )
    on_base = len(base_layers) if list(layers[: len(base_layers)]) == list(base_layers) else 0
    labels = {DIGEST_LABEL: digest, BASE_LAYERS_LABEL: str(on_base)}
    if determined:
        labels[DETERMINED_LABEL] = "1"
    config = {
        "created": made_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": PLAYER_USER,
            "Env": lines,
            "WorkingDir": built.directory or "/",
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": list(layers)},
        "history": [],
    }
    return json.dumps(config, sort_keys=True, separators=(",", ":")).encode()


def write_layer(entries: Iterable[ContextEntry], path: Path) -> str:
    """Write `entries` as a layer to `path`, owned by root. Return its name."""
    with path.open("wb") as target:
        write_context(entries, target)
    return file_digest(path)


def file_digest(path: Path) -> str:
    """Return `sha256:` and the digest of a file."""
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def docker_archive(config: bytes, layers: Mapping[str, Callable[[], IO[bytes]]]) -> Iterator[bytes]:
    """Yield the stream that `docker load` reads, with the files that `layers` opens by the name of the layer.

    Other layers of `config` are only named: the engine must have them.
    """
    names = layer_names(config)
    files = {f"{number}.tar": layers[name] for number, name in enumerate(names) if name in layers}
    manifest = {"Config": "config.json", "RepoTags": None, "Layers": [f"{number}.tar" for number in range(len(names))]}
    yield from _member("config.json", io.BytesIO(config))
    for name, open_layer in files.items():
        with open_layer() as file:
            yield from _member(name, file)
    yield from _member("manifest.json", io.BytesIO(json.dumps([manifest]).encode()))
    yield bytes(2 * _BLOCK)


def saved_layers(stream: FileStream, folder: Path) -> tuple[bytes, dict[str, Path]]:
    """Return the configuration and the layers of the image in the stream of `docker save`, as files of `folder`."""
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
        archive.extractall(folder)  # noqa: S202 - the engine chooses these names, not the image
    stream.read()  # a connection that was read to its end can be used again
    manifest = json.loads((folder / "manifest.json").read_bytes())[0]
    config = (folder / manifest["Config"]).read_bytes()
    files = {file_digest(folder / name): folder / name for name in manifest["Layers"]}
    if missing := [name for name in layer_names(config) if name not in files]:
        raise Fault(f"the engine saved an image without its layer {missing[0]}")
    return config, files


def _member(name: str, file: IO[bytes]) -> Iterator[bytes]:
    header = tarfile.TarInfo(name)
    header.size = size = file.seek(0, io.SEEK_END)
    file.seek(0)
    header.mode = 0o644
    yield header.tobuf(tarfile.PAX_FORMAT)
    while chunk := file.read(_CHUNK_BYTES):
        yield chunk
    yield bytes(-size % _BLOCK)
