"""Packages that the kit leaves out, with the command that installs them; and git, which it does not bring along."""

from __future__ import annotations

import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires

from packaging.requirements import Requirement

from evaluation.domain.errors import Refusal

_DISTRIBUTION = "gauntlet-arena"
_EXTRA = "players"
"""The extra whose modules have the names of their packages; that of `builds` is imported in one place only."""


def refusal_of(error: Exception) -> Refusal | None:
    """Return what to tell a person about a module or a git that is not installed; None for any other error."""
    if isinstance(error, FileNotFoundError) and error.filename == "git":
        return Refusal("this needs git, which is not installed", fix="install it, as with `apt-get install git`")
    if not isinstance(error, ModuleNotFoundError):
        return None
    module = (error.name or "").partition(".")[0]
    packages = {package.name: package for package in _packages()}
    if module not in packages:
        return None
    # never the name of this distribution: on an index, it would be somebody else's
    command = shlex.join([sys.executable, "-m", "pip", "install", *map(_plain, packages.values())])
    return Refusal(
        f"this needs {packages[module].name}, which is not installed: it is in the extra `{_EXTRA}`",
        fix=f"run `{command}`",
    )


def _packages() -> list[Requirement]:
    """Return the packages of the extra."""
    try:
        declared = map(Requirement, requires(_DISTRIBUTION) or ())
    except PackageNotFoundError:  # a server runs the source, and is complete
        return []
    return [each for each in declared if each.marker and each.marker.evaluate({"extra": _EXTRA})]


def _plain(package: Requirement) -> str:
    return f"{package.name}{package.specifier}"
