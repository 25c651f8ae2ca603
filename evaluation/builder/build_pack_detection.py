"""Choice of the build pack: repo2docker's detection, with the lean pack in place of its conda-based one."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from inspect import getfile
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from evaluation.builder.allowed_submission_files import BINDER_DIRECTORIES
from evaluation.builder.build_context_tar import ContextEntry
from evaluation.builder.docker_build_settings import MIRROR_ARGUMENTS
from evaluation.domain.errors import BuildRefusal, Fault, HostRefusal

LEAN = "lean"
DOCKERFILE = "dockerfile"

REQUIREMENTS = "requirements.txt"

_NAMES = (
    "Dockerfile", "DESCRIPTION", "JuliaProject.toml", "Pipfile", "Pipfile.lock", "Project.toml", "REQUIRE", "apt.txt",
    "default.nix", "environment.yaml", "environment.yml", "install.R", "postBuild", "pyproject.toml",
    "requirements.txt", "requirements3.txt", "runtime.txt", "setup.py", "start",
)  # fmt: skip

CONFIGURATION_FILES = frozenset(_NAMES) | {f"{folder}/{name}" for folder in BINDER_DIRECTORIES for name in _NAMES}
"""The paths of all files that decide how a submission is built."""

MAX_CONFIGURATION_BYTES = 1 << 20
"""The limit on each of them: a parser of YAML takes 14 s and 400 MiB for a mebibyte."""

# the order of repo2docker's application (2026.4)
_PACKS = (
    "LegacyBinderDockerBuildPack",
    "DockerBuildPack",
    "JuliaProjectTomlBuildPack",
    "JuliaRequireBuildPack",
    "NixBuildPack",
    "RBuildPack",
    "CondaBuildPack",
    "PipfileBuildPack",
    "PythonBuildPack",
)

_USER = {"NB_USER": "player", "NB_UID": "1000"}

# players run as another user: without a start script, with every file readable
_APPENDIX = "USER root\nRUN chmod -R a+rX ${REPO_DIR}\nWORKDIR ${REPO_DIR}\n"

_MIRRORS = "".join(f"ARG {name}\n" for name in MIRROR_ARGUMENTS)

# packages of buildpack-deps, the usual base image of its packs, which a lean base image may lack
_BASE_PACKAGES = frozenset({"bzip2", "ca-certificates", "curl", "git", "wget"})

_ENTRYPOINT_FILES = ("repo2docker-entrypoint", "python3-login")

# repo2docker reads the repository from the working directory, of which a process has only one
_working_directory = threading.Lock()

Result = TypeVar("Result")


@dataclass(frozen=True)
class PackRecipe:
    """The output of a pack of repo2docker: Dockerfile, build arguments, and the files next to `src/`."""

    dockerfile: str
    arguments: tuple[tuple[str, str], ...]
    files: tuple[ContextEntry, ...]


def detect_pack(source: Path, base_python: str) -> str:
    """Return the pack for `source`: `lean`, `dockerfile`, or the class name of one of repo2docker's packs.

    Raise `BuildRefusal` if repo2docker cannot read the configuration files, or one is too large.
    """
    for name in sorted(CONFIGURATION_FILES):
        path = source / name
        if path.is_file():
            check_configuration_size(name, path.stat().st_size)
    if has_only_requirements(source):
        return LEAN
    with _inside(source):
        pack = next((name for name in _PACKS if _call_pack(name, _pack(name)("").detect)), None)
        if pack == "DockerBuildPack":
            return DOCKERFILE
        if pack is None or pack == "PythonBuildPack":
            name, version, _ = _call_pack(pack, lambda: _pack("PythonBuildPack")("").runtime)
            if name is None or (name == "python" and version in (None, base_python, base_python.partition(".")[0])):
                return LEAN
            if pack is None:
                raise BuildRefusal(f"runtime.txt: {name!r} is not supported", fix=f"write python-{base_python}")
        return pack


def has_only_requirements(source: Path) -> bool:
    """Return True if `source` has no configuration file besides a `requirements.txt`.

    repo2docker then chooses its pack for Python, in any version. It is not asked, as its import takes half a second.
    """
    others = {*CONFIGURATION_FILES, *BINDER_DIRECTORIES} - {REQUIREMENTS}
    return not any(os.path.lexists(source / name) for name in others)


def check_configuration_size(name: str, size: int) -> None:
    """Raise `BuildRefusal` if the configuration file `name` has more than `MAX_CONFIGURATION_BYTES`."""
    if size > MAX_CONFIGURATION_BYTES:
        raise BuildRefusal(
            f"{name} has {size:,} bytes; at most {MAX_CONFIGURATION_BYTES:,} are allowed in a configuration file",
            fix="remove what the build does not need, and put data and long scripts into other files",
        )


def dockerfile_of(source: Path) -> str:
    """Return the path, below `source`, of the Dockerfile that repo2docker uses."""
    with _inside(source):
        return str(_pack("DockerBuildPack")("").binder_path("Dockerfile"))


def render_pack(source: Path, name: str, base_image: str) -> PackRecipe:
    """Return the output of repo2docker's pack `name` for `source`, on `base_image`. Raise `BuildRefusal`."""
    with _inside(source):
        pack = _pack(name)(base_image)
        pack.appendix = _APPENDIX
        pack.platform = import_module("repo2docker.utils").get_platform()
        # the default names contain the path where repo2docker is installed, which differs between hosts
        pack.generate_build_context_filename = _context_name
        packages = pack.get_base_packages() | _BASE_PACKAGES
        pack.get_base_packages = lambda: packages
        dockerfile = _call_pack(name, lambda: pack.render(dict(_USER)))
        scripts = [_context_name(path) for path in sorted(_call_pack(name, pack.get_build_script_files))]
    files = [ContextEntry(target, Path(path), executable=True) for target, path in scripts]
    files += [ContextEntry(file, _buildpacks_directory() / file, executable=True) for file in _ENTRYPOINT_FILES]
    # declared without a value: the steps get the operator's mirrors as build arguments, and no image keeps them
    dockerfile = re.sub(r"^(FROM .*\n)", r"\1" + _MIRRORS, dockerfile.lstrip(), count=1)
    return PackRecipe(dockerfile, tuple(sorted(_USER.items())), tuple(files))


@contextmanager
def _inside(source: Path) -> Iterator[None]:
    # imported first: "" on the module path is the working directory, and a submission's modules must not run here
    _buildpacks()
    _requests()
    with _working_directory, chdir(source):
        yield


def _buildpacks() -> ModuleType:
    """Import repo2docker when it is first needed: every process of the site would start half a second later.

    Raise `HostRefusal` where it is not installed.
    """
    if find_spec("repo2docker") is None:
        raise HostRefusal(
            "the files that configure the build are more than a requirements.txt, and jupyter-repo2docker, which reads "
            "them, is not installed: it is in the extra `builds`",
            fix=f"run `{sys.executable} -m pip install jupyter-repo2docker`",
        )
    return import_module("repo2docker.buildpacks")


def _requests() -> ModuleType:
    """Import the HTTP client of repo2docker with it, not for every push that a process checks without it."""
    return import_module("requests")


def _buildpacks_directory() -> Path:
    return Path(getfile(_buildpacks())).parent


def _pack(name: str) -> Any:
    return getattr(_buildpacks(), name)


def _call_pack(name: str | None, function: Callable[[], Result]) -> Result:
    try:
        return function()
    except Exception as error:  # its packs raise any error of their parsers
        # some packs look up available versions online
        if any(isinstance(each, _requests().RequestException) for each in (error, error.__context__)):
            raise Fault(f"repo2docker ({name}) cannot reach a package index: {error}") from error
        raise BuildRefusal(
            f"repo2docker ({name or 'BuildPack'}) cannot read the configuration files: {error}",
            fix="correct them; see https://repo2docker.readthedocs.io/en/latest/configuration",
        ) from error


def _context_name(path: str, hash_length: int = 6) -> tuple[str, str]:
    """Return the name in the context and the path on this host of one of repo2docker's build scripts."""
    directory = _buildpacks_directory()
    place = Path(os.path.normpath(directory / path))
    return f"build_script_files/{place.relative_to(directory).as_posix().replace('/', '-')}", str(place)
