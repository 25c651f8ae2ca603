"""Files of an image on the host: the layers that all its containers share, and their page cache."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evaluation.sandbox import page_cache

if TYPE_CHECKING:
    from docker import DockerClient

_SOURCE = Path(page_cache.__file__)


def level_layers(client: DockerClient, image: str, base_image: str, labels: dict[str, str]) -> None:
    """Make the page cache of the layers of `image` say nothing of what its containers read.

    A container of `base_image`, which holds nothing of a player, gets the folders of all layers, read-only, and root's
    right to read them. Where the engine does not tell these folders, it reads every file of the image to its end
    instead. Raise what the engine raises.
    """
    folders = _layer_folders(client, image)
    if not folders:
        _read_everything(client, image, labels)
        return
    places = {folder: f"/layers/{index}" for index, folder in enumerate(folders)}
    client.containers.run(
        base_image,
        entrypoint=["python3", "-I", "-c", _SOURCE.read_text(encoding="utf-8"), *places.values()],
        user="0:0",
        cap_drop=["ALL"],
        cap_add=["DAC_READ_SEARCH"],
        security_opt=["no-new-privileges:true"],
        network_mode="none",
        read_only=True,
        volumes={folder: {"bind": place, "mode": "ro"} for folder, place in places.items()},
        healthcheck={"test": ["NONE"]},
        labels=labels,
        remove=True,
    )


def _layer_folders(client: DockerClient, image: str) -> list[str]:
    """Return the folders of the layers of `image` on the engine's host; empty where its storage has none."""
    driver = client.images.get(image).attrs.get("GraphDriver") or {}
    found = driver.get("Data") or {}
    if driver.get("Name") != "overlay2" or "UpperDir" not in found:
        return []
    return [found["UpperDir"], *filter(None, found.get("LowerDir", "").split(":"))]


def _read_everything(client: DockerClient, image: str, labels: dict[str, str]) -> None:
    container = client.containers.create(image, entrypoint=["true"], network_mode="none", labels=labels)
    try:
        stream, _ = container.get_archive("/")
        for _ in stream:
            pass
    finally:
        container.remove(force=True, v=True)
