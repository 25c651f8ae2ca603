"""Players of the transfer format from their repositories."""

from __future__ import annotations

import platform
from pathlib import Path

from evaluation.builder.base import LogLine
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.builder.in_place_builder import count_met_requirements
from evaluation.builder.metadata import read_metadata
from evaluation.builder.settings import build_settings_from_environment
from evaluation.builder.source_tree import tree_entries
from evaluation.builder.tree_digest import tree_digest
from evaluation.transfer.player import TransferPlayer


def build_player(source: Path, *, sandbox: str, on_log: LogLine, images: DockerBuilder | None = None) -> TransferPlayer:
    """Return the repository `source` as a player for that sandbox, named by its title or after its directory.

    `images` builds for Docker; without one, a builder of this host's settings does. Raise `ManifestRefusal` or
    `BuildRefusal` with the fix, or `Fault`.
    """
    source = source.resolve()
    tree_entries(source)
    metadata = read_metadata(source)
    image = None
    if sandbox == "docker":
        builder = images or DockerBuilder(build_settings_from_environment())
        digest, image = builder.build_image(source, on_log=on_log)
        on_log(f"{source.name} runs in an image of this site, not in {metadata.container}")
    else:
        digest, met = tree_digest(source), count_met_requirements(source)
        are = "requirement is" if met == 1 else "requirements are"
        on_log(f"{source.name}: {met} {are} met by Python {platform.python_version()}; nothing is installed")
    return TransferPlayer(
        name=metadata.title or source.name,
        track=metadata.track,
        entry_point=metadata.entry_point,
        digest=digest,
        source=source,
        image=image,
        gpu=metadata.gpu,
    )
