"""Requirements of a submission of 2018 against the legacy environment: what is replaced, and what cannot be met."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from evaluation.builder.allowed_submission_files import configuration_directory
from evaluation.builder.requirements_reader import RequirementLine, read_requirements
from evaluation.domain.errors import BuildRefusal
from evaluation.legacy.environment import LegacyEnvironment
from evaluation.legacy.substitutions import (
    NEEDLESS_SYSTEM_PACKAGES,
    Substitution,
    substitution_of,
    substitution_of_line,
)

_NEEDS_AN_IMAGE = ("Dockerfile", "environment.yml", "environment.yaml", "postBuild")


@dataclass(frozen=True)
class Replacement:
    """One thing that a submission asked for and gets something else for."""

    place: str
    asked: str
    given: str
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.asked} is replaced by {self.given} ({self.why})"


def replacements(source: Path, environment: LegacyEnvironment) -> list[Replacement]:
    """Return what is replaced of the requirements of `source`. Raise `BuildRefusal` for what cannot be met."""
    configuration = configuration_directory(source)
    for name in _NEEDS_AN_IMAGE:
        if (configuration / name).is_file():
            raise BuildRefusal(
                f"{(configuration / name).relative_to(source)}: the legacy environment runs repositories with "
                "requirements.txt and apt.txt alone",
                fix="list the packages in requirements.txt",
            )
    found = []
    path = configuration / "requirements.txt"
    if path.is_file():
        lines = read_requirements(path, name=str(path.relative_to(source)))
        found = [replacement for line in lines if (replacement := _read(line, environment))]
    return found + _system_packages(source, configuration / "apt.txt")


def _read(line: RequirementLine, environment: LegacyEnvironment) -> Replacement | None:
    try:
        return _of_line(line, environment)
    except (ValueError, RecursionError) as error:  # a marker that compares nothing, a number of thousands of digits
        raise BuildRefusal(
            f"{line.place}: neither its version nor its marker can be read", fix="correct the line"
        ) from error


def _of_line(line: RequirementLine, environment: LegacyEnvironment) -> Replacement | None:
    requirement = line.requirement
    if requirement is None or requirement.url:
        row = substitution_of_line(line.text)
        row = row or (substitution_of(canonicalize_name(requirement.name)) if requirement else None)
        if row is None or row.distribution is not None:
            raise BuildRefusal(
                f"{line.place}: {line.text!r} is no package name, and nothing here stands in for it",
                fix="name a package of the legacy environment, or add its code to the repository",
            )
        return Replacement(line.place, line.text, row.given, row.why)
    if requirement.marker is not None and not requirement.marker.evaluate():
        return None
    name = canonicalize_name(requirement.name)
    row = substitution_of(name)
    if row is not None and row.distribution is None:
        return Replacement(line.place, str(requirement), row.given, row.why)
    installed = environment.versions.get(canonicalize_name(row.distribution) if row and row.distribution else name)
    if installed is None:
        raise _missing(line, requirement, row)
    if requirement.specifier.contains(installed, prereleases=True):
        return None
    if _is_newer_than(requirement, Version(installed), Version(row.below) if row and row.below else None):
        raise BuildRefusal(
            f"{line.place}: {str(requirement)!r} is newer than the legacy environment's {name} {installed}",
            fix="ask for an earlier version, or submit with a submission.toml",
        )
    given, why = (row.given, row.why) if row else (f"{name} {installed}", "the version of the legacy environment")
    return Replacement(line.place, str(requirement), given, why)


def _missing(line: RequirementLine, requirement: Requirement, row: Substitution | None) -> BuildRefusal:
    if row is not None and "tensorflow" in row.packages:
        return BuildRefusal(
            f"{line.place}: {str(requirement)!r} needs TensorFlow 1, which the legacy environment of this host lacks",
            fix="an operator adds it: `gauntlet legacy-environment DIR --tensorflow`",
        )
    return BuildRefusal(
        f"{line.place}: {str(requirement)!r} is not in the legacy environment, and nothing stands in for it",
        fix="remove it if the program does not need it, or add its code to the repository",
    )


def _is_newer_than(requirement: Requirement, installed: Version, below: Version | None) -> bool:
    """Return True if a clause of the requirement allows only versions above the installed one, and from `below` on."""
    for clause in requirement.specifier:
        try:
            wanted = Version(clause.version.removesuffix(".*"))
        except InvalidVersion:
            continue
        newer = wanted > installed and (below is None or wanted >= below)
        if newer and clause.operator in ("==", "===", "~=", ">=", ">"):
            return True
    return False


def _system_packages(source: Path, path: Path) -> list[Replacement]:
    if not path.is_file():
        return []
    found = []
    for number, raw in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
        for package in raw.partition("#")[0].split():
            place = f"{path.relative_to(source)}, line {number}"
            if package not in NEEDLESS_SYSTEM_PACKAGES:
                raise BuildRefusal(
                    f"{place}: the system package {package!r} is not part of the legacy environment",
                    fix="remove it if the program does not need it while it runs",
                )
            found.append(Replacement(place, package, "nothing", "only the installation of 2018 needed it"))
    return found
