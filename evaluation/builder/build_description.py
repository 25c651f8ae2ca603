"""Plan of a build, from a submission's configuration files alone: nothing is built or downloaded.

repo2docker reads from the working directory, of which a process has only one, and a hostile file may cost any time, so
a process with many threads calls `plan_within_limits`.
"""

from __future__ import annotations

import platform
from pathlib import Path

from evaluation.builder.allowed_dockerfile_images import check_images
from evaluation.builder.allowed_submission_files import configuration_directory
from evaluation.builder.build_pack_detection import (
    DOCKERFILE,
    LEAN,
    REQUIREMENTS,
    detect_pack,
    dockerfile_of,
    has_only_requirements,
)
from evaluation.builder.docker_build_settings import BuildSettings, build_settings_from_environment
from evaluation.builder.image_recipe import dockerfile_content
from evaluation.builder.in_place_builder import count_met_requirements
from evaluation.builder.lean_build_steps import lean_steps
from evaluation.builder.requirements_reader import are_plain, read_requirements
from evaluation.parsing.limited_process import Fields, ask_once

_SECONDS, _MEMORY_BYTES = 10, 2 << 30

_SETTINGS = ("base_image", "allowed_images", "base_python")
"""What a plan needs of the settings; addresses of mirrors may hold passwords."""


def plan_build(sandbox_name: str, source: Path, settings: BuildSettings) -> str:
    """Return one line that says how `source` would be built for the sandbox `sandbox_name` (`process` or `docker`).

    `source` needs only `CONFIGURATION_FILES`; of `settings` only the images and the base Python count. Raise
    `BuildRefusal` for what the builder would refuse before it starts.
    """
    if sandbox_name == "process":
        met = count_met_requirements(source, on_site=True)
        return f"as it is, Python {platform.python_version()}, {_counted(met)} met"
    return _docker_plan(source, settings)


def _docker_plan(source: Path, settings: BuildSettings) -> str:
    configuration = configuration_directory(source)
    pack = detect_pack(source, settings.base_python)
    if pack == DOCKERFILE:
        file = dockerfile_of(source)
        check_images(dockerfile_content(source, file), name=file, allowed=settings.images())
        return f"your own {file}"
    if pack != LEAN:
        return f"repo2docker's {pack}"
    lean_steps(source, settings.base_image)
    path = configuration / "requirements.txt"
    count = len(read_requirements(path, name=str(path.relative_to(source)))) if path.is_file() else 0
    return f"lean pack, Python {settings.base_python}, {_counted(count)}"


def _counted(requirements: int) -> str:
    return "1 requirement" if requirements == 1 else f"{requirements} requirements"


def plan_within_limits(sandbox_name: str, source: Path) -> str:
    """Return `plan_build` of both, made in a process with limits unless a plain `requirements.txt` is all there is.

    What exceeds the limits is a `BuildRefusal`. Raise `HostRefusal` for a wrong `GAUNTLET_*` variable.
    """
    settings = build_settings_from_environment()
    if _is_plain(source):
        return plan_build(sandbox_name, source, settings)
    answer, _ = ask_once(
        f"{__name__}:plan_request",
        {
            "sandbox": sandbox_name,
            "source": str(source),
            "settings": {name: getattr(settings, name) for name in _SETTINGS},
        },
        what="the build configuration",
        seconds=_SECONDS,
        memory_bytes=_MEMORY_BYTES,
    )
    return str(answer["plan"])


def plan_request(fields: Fields, _: bytes) -> tuple[Fields, bytes]:
    """Answer a request of `plan_within_limits`."""
    settings = BuildSettings(**fields["settings"])
    return {"plan": plan_build(fields["sandbox"], Path(fields["source"]), settings)}, b""


def _is_plain(source: Path) -> bool:
    path = source / REQUIREMENTS
    return has_only_requirements(source) and (not path.exists() or (path.is_file() and are_plain(path)))
