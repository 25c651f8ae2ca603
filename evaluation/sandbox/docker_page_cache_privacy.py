"""Files of an image on the host: the layers that all its containers share, and their page cache."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from docker.errors import APIError, ContainerError

from evaluation.sandbox import page_cache_privacy
from evaluation.sandbox.docker_engine import NO_NETWORK

if TYPE_CHECKING:
    from docker import DockerClient

_SOURCE = Path(page_cache_privacy.__file__)
_SWITCH = "/drop_caches"


def level_layers(client: DockerClient, image: str, base_image: str, labels: dict[str, str]) -> None:
    """Make the caches of the layers of `image` say nothing of what its containers read or looked for.

    A container of `base_image`, which holds nothing of a player, gets the folders of all layers, read-only, and root's
    right to read them. Where the engine does not tell these folders, it reads every file of the image to its end
    instead. The container also gets the kernel's switch that drops the names of files, those of the whole host; an
    engine that does not hand it out leaves them. Raise what the engine raises.
    """
    folders = _layer_folders(client, image)
    if not folders:
        _read_everything(client, image, labels)
    layers = {folder: {"bind": f"/layers/{index}", "mode": "ro"} for index, folder in enumerate(folders)}
    command = [
        "python3",
        "-I",
        "-c",
        _SOURCE.read_text(encoding="utf-8"),
        _SWITCH,
        *(at["bind"] for at in layers.values()),
    ]
    switch = {page_cache_privacy.DROP_CACHES: {"bind": _SWITCH, "mode": "rw"}}
    try:
        _run(client, base_image, command, layers | switch, labels)
    except APIError:
        _run(client, base_image, command, layers, labels)


def _run(
    client: DockerClient, image: str, command: list[str], volumes: dict[str, dict[str, str]], labels: dict[str, str]
) -> None:
    container = client.containers.create(
        image,
        entrypoint=command,
        user="0:0",
        cap_drop=["ALL"],
        cap_add=["DAC_READ_SEARCH"],
        security_opt=["no-new-privileges:true"],
        **NO_NETWORK,
        read_only=True,
        volumes=volumes,
        healthcheck={"test": ["NONE"]},
        labels=labels,
    )
    try:
        container.start()
        status = container.wait()["StatusCode"]
        if status:
            raise ContainerError(container, status, command[0], image, container.logs(tail=20).decode(errors="replace"))
    finally:
        container.remove(force=True, v=True)


def _layer_folders(client: DockerClient, image: str) -> list[str]:
    """Return the folders of the layers of `image` on the engine's host; empty where its storage has none."""
    driver = client.images.get(image).attrs.get("GraphDriver") or {}
    found = driver.get("Data") or {}
    if driver.get("Name") != "overlay2" or "UpperDir" not in found:
        return []
    return [found["UpperDir"], *filter(None, found.get("LowerDir", "").split(":"))]


def _read_everything(client: DockerClient, image: str, labels: dict[str, str]) -> None:
    container = client.containers.create(image, entrypoint=["true"], labels=labels, **NO_NETWORK)
    try:
        stream, _ = container.get_archive("/")
        for _ in stream:
            pass
    finally:
        container.remove(force=True, v=True)
