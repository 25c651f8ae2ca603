"""The lean build pack: a plain pip repository on the base image, in seconds and without a notebook server."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from evaluation.builder.allowed_submission_files import configuration_directory
from evaluation.builder.requirements_reader import read_requirements
from evaluation.domain.errors import BuildRefusal

WORK_DIRECTORY = "/submission"
SDK_DIRECTORY = "/opt/gauntlet"
PLAYER_USER = "65534:65534"
"""User of players at run time: `nobody`, who owns nothing else in the image."""

OPERATOR_DIRECTORY = "operator"
"""Directory of the operator's mirrors and certificates in the context; mounted for single steps, never copied."""

MET_SCRIPT = "installed_requirements.py"

_REQUIREMENTS = "requirements.txt"

SOURCE_DIRECTORY = "src"
"""Directory of the repository in the context."""

# an installing step: it sees the operator's settings and a temporary scratch directory
_INSTALL = (
    f"RUN --mount=type=bind,source={OPERATOR_DIRECTORY},target=/run/operator "
    "--mount=type=tmpfs,target=/run/scratch sh /run/operator/install"
)

INSTALL_SCRIPT = rb"""#!/bin/sh
# Run an installing step of a build with the operator's settings; none of them remains in the image.
set -eu
cat /etc/ssl/certs/ca-certificates.crt /run/operator/certificates.pem >/run/scratch/trusted.pem
trusted=/run/scratch/trusted.pem
export PIP_CERT=$trusted REQUESTS_CA_BUNDLE=$trusted SSL_CERT_FILE=$trusted
export PIP_CONFIG_FILE=/run/operator/pip.conf PIP_ROOT_USER_ACTION=ignore PIP_NO_INPUT=1 PIP_PROGRESS_BAR=off
export DEBIAN_FRONTEND=noninteractive
exec "$@"
"""

# the kernel tells the owner of a file, and those who may write it, which of its pages others have read
_GIVE_TO_ROOT = f"chown -hR 0:0 {WORK_DIRECTORY} && chmod -R a+rX,go-w {WORK_DIRECTORY}"

_PACKAGE_NAME = re.compile(r"[a-z0-9][a-z0-9.+-]+(?:=[A-Za-z0-9.+~:-]+)?")


@dataclass(frozen=True)
class LeanSteps:
    """The steps of a lean build, in their order."""

    start: tuple[str, ...]
    installing: tuple[str, ...]
    """They see none of the repository's files but those that `read` names."""
    read: tuple[str, ...]
    has_addresses: bool
    """Whether a requirement is an address, such as a branch of a repository: what is there may change."""
    copying: tuple[str, ...]
    """They copy the repository to `WORK_DIRECTORY`."""
    further: tuple[str, ...]
    """They may need any file of the repository."""

    @property
    def dockerfile(self) -> str:
        """The text of the whole build."""
        return _text(*self.start, *self.installing, *self.copying, *self.further)

    @property
    def installing_dockerfile(self) -> str:
        """The text of a build that only installs."""
        return _text(*self.start, *self.installing)


def lean_steps(source: Path, base_image: str) -> LeanSteps:
    """Return the steps for `source`: apt.txt, requirements.txt, the files, the package itself, postBuild.

    They are few, since each takes time. The SDK is added as a layer later, and mounted for steps that may
    import it. All files of the repository are root's at the end. The context must hold `src/`, `sdk/` and `operator/`.
    Raise `BuildRefusal` for invalid files.
    """
    configuration = configuration_directory(source)
    apt = tuple(_apt_steps(configuration / "apt.txt"))
    early, late, has_addresses = _pip_steps(source, configuration)
    post_build = configuration / "postBuild"
    owner = ""
    if post_build.is_file():
        # before WORKDIR, so that the player owns the directory itself, too, and postBuild may add files
        owner = f"--chown={PLAYER_USER} "
        late += _post_build_steps(post_build.relative_to(source))
    return LeanSteps(
        start=(f"FROM {base_image}", "USER root"),
        installing=(*apt, *early),
        read=(str((configuration / _REQUIREMENTS).relative_to(source)),) if early else (),
        has_addresses=has_addresses,
        copying=(f"COPY {owner}{SOURCE_DIRECTORY}/ {WORK_DIRECTORY}/", f"WORKDIR {WORK_DIRECTORY}"),
        further=tuple(late),
    )


def _text(*steps: str) -> str:
    return "\n".join(steps) + "\n"


def _post_build_steps(path: Path) -> list[str]:
    return [
        f"ENV HOME=/tmp PYTHONUNBUFFERED=1 PYTHONPATH={SDK_DIRECTORY}${{PYTHONPATH:+:$PYTHONPATH}}",
        f"USER {PLAYER_USER}",
        f"RUN --mount=type=bind,source=sdk,target={SDK_DIRECTORY} chmod +x {path} && ./{path}",
        "USER root",
        f"RUN {_GIVE_TO_ROOT}",
    ]


def _apt_steps(path: Path) -> Iterator[str]:
    if not path.is_file():
        return
    packages = set()
    for number, raw in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
        package = raw.partition("#")[0].strip()
        if package and not _PACKAGE_NAME.fullmatch(package):
            raise BuildRefusal(
                f"apt.txt, line {number}: {package!r} is not a package name",
                fix="write one Debian package on each line",
            )
        packages.add(package)
    if names := " ".join(sorted(packages - {""})):
        command = f"apt-get -qq update && apt-get install --yes --no-install-recommends {names}"
        yield f"{_INSTALL} sh -c '{command} && rm -rf /var/lib/apt/lists/*'"


def _pip_steps(source: Path, configuration: Path) -> tuple[list[str], list[str], bool]:
    """Return the steps before the repository is copied, those after, and whether a requirement is an address."""
    pip = f"{_INSTALL} python3 -m pip install --no-cache-dir"
    early: list[str] = []
    late: list[str] = []
    has_addresses = False
    path = configuration / _REQUIREMENTS
    if path.is_file():
        relative = path.relative_to(source)
        lines = read_requirements(path, name=str(relative))
        has_addresses = any(line.requirement and line.requirement.url for line in lines)
        if not any(line.requirement is None or _is_file(line.requirement) for line in lines):
            mounted = f"/run/src/{relative}"
            mount = f"RUN --mount=type=bind,source={SOURCE_DIRECTORY}/{relative},target={mounted} "
            known = f"python3 /run/operator/{MET_SCRIPT} {mounted}"
            step = f"{_INSTALL} sh -c '{known} || python3 -m pip install --no-cache-dir -r {mounted}'"
            early.append(step.replace("RUN ", mount, 1))
        else:
            # a path, another file or an option: it may need the whole repository
            late.append(f"{pip} -r {relative}")
    if configuration == source and _is_package(source):
        late.append(f"{pip} .")
    return early, late, has_addresses


def _is_file(requirement: Requirement) -> bool:
    return (requirement.url or "").startswith("file:")


def _is_package(source: Path) -> bool:
    if (source / "setup.py").is_file():
        return True
    path = source / "pyproject.toml"
    if not path.is_file():
        return False
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BuildRefusal(f"pyproject.toml: not valid TOML: {error}", fix="correct pyproject.toml") from error
    # like repo2docker: otherwise the file only holds settings of tools
    return "project" in document and "build-system" in document
