"""What the build of a submission used of its limits."""

from __future__ import annotations

import contextlib

from evaluation.builder.docker_build_settings import build_settings_from_environment
from evaluation.domain.limit_use import LimitUse, Unit
from evaluation.sandbox.docker_engine import connect_engine


def build_limits(sandbox: str, image: str | None, seconds: float) -> tuple[LimitUse, ...]:
    """Return the time of a build and the size of its image beyond the base image; nothing where none was made."""
    if sandbox != "docker" or image is None:
        return ()
    settings = build_settings_from_environment()
    with contextlib.closing(connect_engine()) as engine:
        size = engine.images.get(image).attrs["Size"] - engine.images.get(settings.base_image).attrs["Size"]
    return (
        LimitUse("build", seconds, settings.seconds),
        LimitUse("image beyond the base image", max(0, size), settings.max_image_bytes, Unit.BYTES),
    )
