"""Which builder belongs to which sandbox."""

from __future__ import annotations

from evaluation.builder.base import Builder
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.builder.process_builder import ProcessBuilder
from evaluation.builder.settings import build_settings_from_environment


def choose_builder(sandbox_name: str) -> Builder:
    """The builder whose players the sandbox `sandbox_name` (`process` or `docker`) starts.

    Raises `HostRefusal` for a wrong `GAUNTLET_*` variable and `Fault` where no usable docker program is installed.
    """
    if sandbox_name == "process":
        return ProcessBuilder()
    if sandbox_name == "docker":
        return DockerBuilder(build_settings_from_environment())
    raise ValueError(f"no builder for a sandbox called {sandbox_name!r}")
