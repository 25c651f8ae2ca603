"""Choice of the builder that belongs to a sandbox."""

from __future__ import annotations

from evaluation.builder.base import Builder
from evaluation.builder.docker_build_settings import build_settings_from_environment
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.builder.in_place_builder import InPlaceBuilder
from evaluation.builder.installed_layer_cache import InstalledLayerCache
from evaluation.builder.layer_store import LayerStore


def choose_builder(
    sandbox_name: str, store: LayerStore | None = None, cache: InstalledLayerCache | None = None
) -> Builder:
    """Return the builder for the sandbox `sandbox_name` (`process` or `docker`).

    `store` keeps its images, `cache` what they install.

    Raise `HostRefusal` for a wrong `GAUNTLET_*` variable and `Fault` if no Docker engine answers.
    """
    if sandbox_name == "process":
        return InPlaceBuilder()
    if sandbox_name == "docker":
        return DockerBuilder(build_settings_from_environment(), store=store, cache=cache)
    raise ValueError(f"no builder for a sandbox called {sandbox_name!r}")
