"""Check that installed packages meet a plain requirements file (exit status 0), so that slow pip need not start.

Runs in a build, in the Python of the base image. In cases of doubt, pip decides.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def main(path: str) -> int:
    """Return the exit status for the requirements file at `path`: 0 if installed packages meet every line."""
    from pip._vendor.packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 - may be missing

    for raw in Path(path).read_text(encoding="utf-8").splitlines():
        line = raw.partition(" #")[0].strip()
        if not line or line.startswith("#"):
            continue
        try:
            requirement = Requirement(line)
            installed = version(requirement.name)
            special = requirement.url or requirement.extras or requirement.marker
            if special or not requirement.specifier.contains(installed):
                return 1
        except (InvalidRequirement, PackageNotFoundError):
            return 1
        sys.stdout.write(f"{line} is met by {requirement.name} {installed}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
