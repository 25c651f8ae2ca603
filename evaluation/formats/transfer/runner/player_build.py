"""Players of the transfer format from their repositories."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from evaluation.builder.allowed_submission_files import tree_entries
from evaluation.builder.base import LogLine
from evaluation.builder.docker_build_settings import build_settings_from_environment
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.builder.in_place_builder import count_met_requirements
from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.errors import HostRefusal
from evaluation.formats.transfer.metadata import METADATA_NAME, OWN_CONTAINER, Metadata, executable_line, read_metadata
from evaluation.formats.transfer.runner.legacy_program_check import check_program
from evaluation.formats.transfer.runner.transfer_player import LegacyStart, TransferPlayer
from evaluation.legacy.environment import VARIABLE, LegacyEnvironment, legacy_environment, legacy_image
from evaluation.legacy.player_modules import PLAYER_MODULES

_DOCKER = "docker"


def build_player(
    source: Path, *, sandbox: str, on_log: LogLine, images: DockerBuilder | None = None, digest: str = ""
) -> TransferPlayer:
    """Return the repository `source` as a player for that sandbox, named by its title or after its directory.

    A submission that was written for a container of 2017 runs in the legacy environment, if this host has one. `images`
    builds for Docker; without one, a builder of this host's settings does. `digest` is that of its files where the
    caller has it: otherwise they are hashed. Lines of the log begin with paths of the repository. Raise
    `ManifestRefusal` or `BuildRefusal` with the fix, `HostRefusal` if this host lacks what it needs, or `Fault`.
    """
    source = source.resolve()
    tree_entries(source)  # refuses paths that are not allowed
    metadata = read_metadata(source)
    if not os.access(source / metadata.entry_point, os.X_OK):
        on_log(executable_line(metadata.entry_point))
    environment = legacy_environment() if metadata.container != OWN_CONTAINER else None
    if environment is None:
        player = _of_today(source, metadata, sandbox, on_log, images, digest)
        if metadata.container != OWN_CONTAINER:
            on_log(
                f"{METADATA_NAME}: the container {metadata.container} is not fetched; without a legacy "
                f"environment ({VARIABLE}), it runs with current packages"
            )
        return player
    for line in check_program(source, metadata.entry_point, environment):
        on_log(line)
    on_log(
        f"{METADATA_NAME}: the container {metadata.container} is replaced by the legacy environment "
        "(images of 2017 are not fetched)"
    )
    return _of_2017(source, metadata, sandbox, environment, digest)


def _of_today(
    source: Path, metadata: Metadata, sandbox: str, on_log: LogLine, images: DockerBuilder | None, digest: str
) -> TransferPlayer:
    image = None
    if sandbox == _DOCKER:
        builder = images or DockerBuilder(build_settings_from_environment())
        digest, image = builder.build_image(source, on_log=on_log)
    else:
        digest, met = digest or tree_digest(source), count_met_requirements(source)
        are = "requirement is" if met == 1 else "requirements are"
        on_log(f"{met} {are} met by Python {platform.python_version()}; nothing is installed")
    return _player(source, metadata, digest, image)


def _of_2017(
    source: Path, metadata: Metadata, sandbox: str, environment: LegacyEnvironment, digest: str
) -> TransferPlayer:
    parts = [digest or tree_digest(source), environment.digest(), PLAYER_MODULES.digest()]
    modules = PLAYER_MODULES.kept()
    if sandbox != _DOCKER:
        start = LegacyStart(str(environment.python), modules, environment.readable())
        return _player(source, metadata, _digest_of(parts), None, start)
    name = legacy_image()
    # by identity: another image of that name, made later or on another host, has other packages
    image = DockerBuilder(build_settings_from_environment()).identity(name)
    if image is None:
        raise HostRefusal(
            f"{METADATA_NAME}: a submission of 2017 needs the image {name}, which this host does not have",
            fix=f'an operator runs `make legacy-image`; or write "container": "{OWN_CONTAINER}"',
        )
    return _player(source, metadata, _digest_of([*parts, image]), image, LegacyStart("python3", modules))


def _digest_of(parts: Sequence[str]) -> str:
    return f"sha256:{hashlib.sha256(' '.join(parts).encode()).hexdigest()}"


def _player(
    source: Path, metadata: Metadata, digest: str, image: str | None, legacy: LegacyStart | None = None
) -> TransferPlayer:
    return TransferPlayer(
        name=metadata.title or source.name,
        track=metadata.track,
        entry_point=metadata.entry_point,
        digest=digest,
        source=source,
        image=image,
        gpu=metadata.gpu,
        legacy=legacy,
    )
