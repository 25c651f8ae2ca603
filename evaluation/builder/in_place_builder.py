"""Builder for hosts without a Docker engine: the checkout unchanged, run with the current interpreter."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.markers import UndefinedComparison
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from evaluation.builder.allowed_submission_files import configuration_directory, tree_entries
from evaluation.builder.base import Builder, LogLine
from evaluation.builder.manifest import read_manifest
from evaluation.builder.requirements_reader import read_requirements
from evaluation.builder.run_script_check import require_script
from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.errors import BuildRefusal
from evaluation.domain.players import QueryPlayer

_USE_DOCKER = "build it with Docker (`--sandbox docker`)"

# repo2docker's configuration files that need Docker, and what each asks for
_NEEDS_DOCKER = {
    "Dockerfile": "a separate image",
    "environment.yml": "a conda environment",
    "apt.txt": "system packages",
    "postBuild": "a step after the build",
    "Pipfile": "a Pipenv environment",
    "Pipfile.lock": "a Pipenv environment",
    "Project.toml": "Julia",
    "JuliaProject.toml": "Julia",
    "REQUIRE": "Julia",
    "install.R": "R",
    "default.nix": "Nix",
}


class InPlaceBuilder(Builder):
    """Checks that the current interpreter meets the checkout's requirements; installs nothing."""

    def build(self, source: Path, *, on_log: LogLine) -> QueryPlayer:
        """Return the checkout `source` as a player; its digest is that of its tree."""
        digest = tree_digest(source)
        manifest = read_manifest(source)
        require_script(manifest.run, [str(entry.path) for entry in tree_entries(source)])
        met = count_met_requirements(source)
        are = "requirement is" if met == 1 else "requirements are"
        on_log(f"{met} {are} met by Python {platform.python_version()}; nothing is installed")
        return QueryPlayer(
            name=manifest.title,
            track=manifest.track,
            command=manifest.run,
            digest=digest,
            directory=source.resolve(),
            gpu=manifest.gpu,
        )

    def check_host(self) -> None:
        """Do nothing: the current interpreter is enough."""


def count_met_requirements(source: Path, *, on_site: bool = False) -> int:
    """Count the requirements in the configuration files of `source`. Raise `BuildRefusal` for an unmet one.

    `on_site`: the reader of the refusal is a participant, who can install nothing here.
    """
    configuration = configuration_directory(source)
    check = _RequirementCheck(on_site)
    check.refuse_what_needs_docker(source, configuration)
    check.python(configuration)
    met = 0
    for place, requirement in check.requirements(source, configuration):
        check.requirement(place, requirement)
        met += 1
    return met


@dataclass(frozen=True)
class _RequirementCheck:
    """What the current interpreter meets, and refusals with fixes for their reader."""

    on_site: bool

    @property
    def _use_docker(self) -> str:
        if self.on_site:
            return "ask the organisers: this site runs submissions with its own Python, and installs nothing"
        return _USE_DOCKER

    def refuse_what_needs_docker(self, source: Path, configuration: Path) -> None:
        for name, what in _NEEDS_DOCKER.items():
            path = configuration / name
            if path.exists():
                raise BuildRefusal(
                    f"{path.relative_to(source)}: asks for {what}, which the process sandbox cannot provide",
                    fix=f"remove the file, or {self._use_docker}",
                )

    def python(self, configuration: Path) -> None:
        path = configuration / "runtime.txt"
        if not path.is_file():
            return
        requested = path.read_text("utf-8", errors="replace").strip()
        version = requested.removeprefix("python-").split(".")
        current = list(platform.python_version_tuple())
        if not requested.startswith("python-") or version != current[: len(version)]:
            runs = platform.python_version()
            own = f"write python-{runs}" if self.on_site else "run Gauntlet with that Python"
            raise BuildRefusal(
                f"runtime.txt: asks for {requested!r}, but this host runs Python {runs}",
                fix=f"{own}, or {self._use_docker}",
            )

    def requirements(self, source: Path, configuration: Path) -> Iterator[tuple[str, Requirement]]:
        path = configuration / "requirements.txt"
        if path.is_file():
            for line in read_requirements(path, name=str(path.relative_to(source))):
                if line.requirement is None or line.requirement.url:
                    raise BuildRefusal(
                        f"{line.place}: {line.text!r} is not a package name; only pip can install it",
                        fix=f"name the package and its version, or {self._use_docker}",
                    )
                yield line.place, line.requirement
        # like repo2docker: pyproject.toml counts only if no binder directory overrides it
        if configuration == source and (source / "pyproject.toml").is_file():
            yield from self._project_requirements(source / "pyproject.toml")

    def _project_requirements(self, path: Path) -> Iterator[tuple[str, Requirement]]:
        try:
            project: dict[str, Any] = tomllib.loads(path.read_text("utf-8")).get("project", {})
            versions = SpecifierSet(project.get("requires-python", ""))
            requirements = [Requirement(text) for text in project.get("dependencies", [])]
        except (ValueError, TypeError, AttributeError, RecursionError) as error:  # the file may hold values of any type
            raise BuildRefusal(f"pyproject.toml: {error}", fix="correct [project] in pyproject.toml") from error
        if not versions.contains(platform.python_version(), prereleases=True):
            raise BuildRefusal(
                f"pyproject.toml: asks for Python {versions}, but this host runs {platform.python_version()}",
                fix=self._use_docker,
            )
        for requirement in requirements:
            yield "pyproject.toml", requirement

    def requirement(self, place: str, requirement: Requirement, *, extra: str = "") -> None:
        try:
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
                return
        except (UndefinedComparison, ValueError, RecursionError) as error:
            raise BuildRefusal(f"{place}: {error}", fix="correct the marker after the semicolon") from error
        try:
            distribution = importlib.metadata.distribution(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            raise self._unmet(place, requirement, "is not installed") from None
        try:
            met = requirement.specifier.contains(distribution.version, prereleases=True)
        except ValueError as error:  # a number of thousands of digits
            raise BuildRefusal(
                f"{place}: the version of {requirement.name} cannot be read", fix="correct it"
            ) from error
        if not met:
            raise self._unmet(
                place, requirement, f"is not met: {distribution.version} is installed", distribution.version
            )
        for requested_extra in requirement.extras:
            for text in distribution.requires or []:
                part = Requirement(text)
                # an extra of a package may name the package itself, for its other extras
                itself = canonicalize_name(part.name) == canonicalize_name(requirement.name)
                if not itself and part.marker is not None and "extra" in str(part.marker):
                    self.requirement(f"{place}, {requirement}", part, extra=requested_extra)

    def _unmet(self, place: str, requirement: Requirement, what: str, installed: str = "") -> BuildRefusal:
        own = f"run `{sys.executable} -m pip install {str(requirement)!r}`"
        if self.on_site:
            own = f"write {requirement.name}=={installed}" if installed else f"do without {requirement.name}"
        return BuildRefusal(
            f"{place}: the requirement {str(requirement)!r} {what}", fix=f"{own}, or {self._use_docker}"
        )
