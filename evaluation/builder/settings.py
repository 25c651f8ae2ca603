"""The operator's settings for builds with Docker."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from evaluation.builder.image_references import AllowedImages, image_entry
from evaluation.builder.mirrors import DEFAULT_HOSTS, Mirror, Reach, mirrored
from evaluation.domain.errors import HostRefusal

NETWORKS = ("mirrors", "none")

MIRROR_ARGUMENTS = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS")
"""The build arguments by which the mirrors reach builds that our lean pack does not make."""

_HOST = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")

Value = TypeVar("Value")


@dataclass(frozen=True)
class BuildSettings:
    """What an operator decides about builds. None of it stays in an image, save the base image itself."""

    base_image: str = "gauntlet-base:latest"
    """The image that lean builds and repo2docker's own packs start from; it must be on the engine."""
    allowed_images: tuple[str, ...] = ()
    """What a participant's Dockerfile may name besides the base image, as `AllowedImages` reads it."""
    base_python: str = "3.11"
    """Its Python: a `runtime.txt` that asks for another one is built by repo2docker's conda pack."""
    certificates: Path | None = None
    """A PEM file of certificates that installing steps of lean builds trust beside those of the base image.

    Other builds trust what the image they start from trusts."""
    index_url: str | None = None
    extra_index_url: str | None = None
    """Mirrors of the package index; several extra ones are separated by spaces."""
    find_links: str | None = None
    """A URL with packages, or a directory of this host with wheels in it (sent along with every build)."""
    network: str = "mirrors"
    """`mirrors` (the package mirrors and `hosts`, through a proxy of the builder's) or `none`."""
    hosts: tuple[str, ...] = DEFAULT_HOSTS
    """The hosts that builds may reach besides the mirrors named above."""
    seconds: float = 1800.0
    """How long one build may take, wall clock."""
    max_image_bytes: int = 4 << 30
    """How much an image may hold beyond the base image."""
    memory_bytes: int = 4 << 30
    """How much memory all processes of a build may use together."""
    cpus: float = 2.0
    processes: int = 1024
    """How many processors, and processes and threads, a build may use."""

    def images(self) -> AllowedImages:
        """The images that a participant's Dockerfile may name."""
        return AllowedImages(self.base_image, self.allowed_images)

    def reach(self) -> tuple[BuildSettings, Reach]:
        """These settings as a build may know them, with mirrors by their local addresses, and what it may reach."""
        mirrors: list[Mirror] = []

        def local(urls: str | None) -> str | None:
            return " ".join(mirrored(url, mirrors) for url in urls.split()) if urls else None

        known = replace(
            self,
            index_url=local(self.index_url),
            extra_index_url=local(self.extra_index_url),
            find_links=local(self.find_links),
        )
        return known, Reach(frozenset(host.lower() for host in self.hosts), tuple(mirrors))

    def mirror_arguments(self) -> tuple[tuple[str, str], ...]:
        """The mirrors that are set, by name; a directory of this host is for lean builds only."""
        links = self.find_links if self.find_links and not Path(self.find_links).is_dir() else None
        values = zip(MIRROR_ARGUMENTS, (self.index_url, self.extra_index_url, links), strict=True)
        return tuple((name, value) for name, value in values if value)


def build_settings_from_environment(environment: Mapping[str, str] = os.environ) -> BuildSettings:
    """The settings that the `GAUNTLET_*` variables give; raises `HostRefusal` naming the variable that is wrong."""
    plain = BuildSettings()

    def read(name: str, convert: Callable[[str], Value], otherwise: Value) -> Value:
        text = environment.get(name, "").strip()
        if not text:
            return otherwise
        try:
            return convert(text)
        except ValueError as error:
            raise HostRefusal(f"{name}={text!r}: {error}", fix=f"correct {name}, or unset it") from error

    return BuildSettings(
        base_image=read("GAUNTLET_BASE_IMAGE", str, plain.base_image),
        allowed_images=read("GAUNTLET_BUILD_IMAGES", _images, ()),
        base_python=read("GAUNTLET_BASE_PYTHON", str, plain.base_python),
        certificates=read("GAUNTLET_BUILD_CERTIFICATES", _file, None),
        index_url=read("GAUNTLET_PIP_INDEX_URL", str, None),
        extra_index_url=read("GAUNTLET_PIP_EXTRA_INDEX_URL", str, None),
        find_links=read("GAUNTLET_PIP_FIND_LINKS", str, None),
        network=read("GAUNTLET_BUILD_NETWORK", _network, plain.network),
        seconds=read("GAUNTLET_BUILD_SECONDS", _positive, plain.seconds),
        max_image_bytes=int(read("GAUNTLET_MAX_IMAGE_BYTES", _positive, float(plain.max_image_bytes))),
        hosts=read("GAUNTLET_BUILD_HOSTS", _hosts, plain.hosts),
        memory_bytes=int(read("GAUNTLET_BUILD_MEMORY_BYTES", _positive, float(plain.memory_bytes))),
        cpus=read("GAUNTLET_BUILD_CPUS", _positive, plain.cpus),
        processes=int(read("GAUNTLET_BUILD_PROCESSES", _positive, float(plain.processes))),
    )


def _file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise ValueError("is no file")
    return path


def _images(text: str) -> tuple[str, ...]:
    entries = tuple(text.replace(",", " ").split())
    for entry in entries:
        image_entry(entry)
    return entries


def _hosts(text: str) -> tuple[str, ...]:
    hosts = tuple(text.replace(",", " ").split())
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise ValueError(f"{host!r} is no host name, such as pypi.org")
    return hosts


def _network(text: str) -> str:
    if text not in NETWORKS:
        raise ValueError(f"must be one of {', '.join(NETWORKS)}")
    return text


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError("must be a number above 0")
    return number
