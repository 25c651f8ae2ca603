"""Operator's settings for builds with Docker."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from evaluation.builder.allowed_dockerfile_images import AllowedImages, image_entry
from evaluation.builder.mirrors import DEFAULT_HOSTS, Mirror, Reach, mirrored
from evaluation.domain.errors import HostRefusal

NETWORKS = ("mirrors", "none")

MIRROR_ARGUMENTS = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS")
"""The build arguments that pass the mirrors to builds without the lean pack."""

_HOST = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")

Value = TypeVar("Value")


@dataclass(frozen=True)
class CacheLimits:
    """How long and how much this host keeps of what the installing steps of builds gave."""

    days: float = 14.0
    """The age at which a layer is installed again; 0: none is kept."""
    bytes: int = 16 << 30
    """The limit on all layers together."""
    team_bytes: int = 4 << 30
    """The limit on those of one team."""


@dataclass(frozen=True)
class BuildSettings:
    """The operator's settings for builds. Images keep none of it, except the base image itself."""

    base_image: str = "gauntlet-base:latest"
    """The image that lean builds and repo2docker's own packs start from; it must be on the engine."""
    allowed_images: tuple[str, ...] = ()
    """Images that a participant's Dockerfile may name besides the base image, in the format of `AllowedImages`."""
    base_python: str = "3.11"
    """Its Python version; repo2docker's conda pack builds a `runtime.txt` with another version."""
    certificates: Path | None = None
    """A PEM file of certificates that installing steps of lean builds trust in addition to those of the base image.

    Other builds trust the certificates of the image that they start from."""
    index_url: str | None = None
    extra_index_url: str | None = None
    """Mirrors of the package index; several extra ones are separated by spaces."""
    find_links: str | None = None
    """A URL with packages, or a directory of this host with wheels in it (sent along with every build)."""
    network: str = "mirrors"
    """`mirrors` (the package mirrors and `hosts`, through the builder's proxy) or `none`."""
    hosts: tuple[str, ...] = DEFAULT_HOSTS
    """The hosts that builds may reach besides the mirrors named above."""
    seconds: float = 1800.0
    """The time limit of one build, wall clock."""
    max_image_bytes: int = 4 << 30
    """The size limit of an image beyond the base image."""
    max_image_files: int = 1_000_000
    """The limit on its files and directories."""
    memory_bytes: int = 4 << 30
    """The memory limit of all processes of a build together."""
    cpus: float = 2.0
    processes: int = 1024
    """The limits on processors, and on processes and threads, of a build."""
    cache: CacheLimits = CacheLimits()

    def images(self) -> AllowedImages:
        """Return the images that a participant's Dockerfile may name."""
        return AllowedImages(self.base_image, self.allowed_images)

    def reach(self) -> tuple[BuildSettings, Reach]:
        """Return the settings for a build, with mirrors by their local addresses, and what the build may reach."""
        mirrors: list[Mirror] = []

        def local(urls: str | None) -> str | None:
            return " ".join(mirrored(url, mirrors) for url in urls.split()) if urls else None

        local_settings = replace(
            self,
            index_url=local(self.index_url),
            extra_index_url=local(self.extra_index_url),
            find_links=local(self.find_links),
        )
        hosts = frozenset(host.lower() for host in self.hosts)
        return local_settings, Reach(hosts, tuple(mirrors), uses_public_index=self.index_url is None)

    def mirror_arguments(self) -> tuple[tuple[str, str], ...]:
        """Return the configured mirrors by name; a directory of this host is for lean builds only."""
        links = self.find_links if self.find_links and not Path(self.find_links).is_dir() else None
        values = zip(MIRROR_ARGUMENTS, (self.index_url, self.extra_index_url, links), strict=True)
        return tuple((name, value) for name, value in values if value)


def build_settings_from_environment(environment: Mapping[str, str] = os.environ) -> BuildSettings:
    """Read the settings from the `GAUNTLET_*` variables. Raise `HostRefusal` with the name of a wrong variable."""
    defaults = BuildSettings()

    def read(name: str, convert: Callable[[str], Value], otherwise: Value) -> Value:
        text = environment.get(name, "").strip()
        if not text:
            return otherwise
        try:
            return convert(text)
        except ValueError as error:
            raise HostRefusal(f"{name}={text!r}: {error}", fix=f"correct {name}, or unset it") from error

    return BuildSettings(
        base_image=read("GAUNTLET_BASE_IMAGE", str, defaults.base_image),
        allowed_images=read("GAUNTLET_BUILD_IMAGES", _images, ()),
        base_python=read("GAUNTLET_BASE_PYTHON", str, defaults.base_python),
        certificates=read("GAUNTLET_BUILD_CERTIFICATES", _file, None),
        index_url=read("GAUNTLET_PIP_INDEX_URL", str, None),
        extra_index_url=read("GAUNTLET_PIP_EXTRA_INDEX_URL", str, None),
        find_links=read("GAUNTLET_PIP_FIND_LINKS", str, None),
        network=read("GAUNTLET_BUILD_NETWORK", _network, defaults.network),
        seconds=read("GAUNTLET_BUILD_SECONDS", _positive, defaults.seconds),
        max_image_bytes=int(read("GAUNTLET_MAX_IMAGE_BYTES", _positive, float(defaults.max_image_bytes))),
        max_image_files=int(read("GAUNTLET_MAX_IMAGE_FILES", _positive, float(defaults.max_image_files))),
        hosts=read("GAUNTLET_BUILD_HOSTS", _hosts, defaults.hosts),
        memory_bytes=int(read("GAUNTLET_BUILD_MEMORY_BYTES", _positive, float(defaults.memory_bytes))),
        cpus=read("GAUNTLET_BUILD_CPUS", _positive, defaults.cpus),
        processes=int(read("GAUNTLET_BUILD_PROCESSES", _positive, float(defaults.processes))),
        cache=CacheLimits(
            days=read("GAUNTLET_BUILD_CACHE_DAYS", _not_negative, defaults.cache.days),
            bytes=int(read("GAUNTLET_BUILD_CACHE_BYTES", _positive, float(defaults.cache.bytes))),
            team_bytes=int(read("GAUNTLET_BUILD_CACHE_TEAM_BYTES", _positive, float(defaults.cache.team_bytes))),
        ),
    )


def _file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise ValueError("is not a file")
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
            raise ValueError(f"{host!r} is not a host name such as pypi.org")
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


def _not_negative(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError("must be 0 or a number above it")
    return number
