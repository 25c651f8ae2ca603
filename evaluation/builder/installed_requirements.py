"""Ends with 0 where what is installed meets a plain requirements file, so that pip, which is slow to start, need not.

Runs in a build, in the Python of the base image; whatever it cannot tell is for pip to decide.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def main(path: str) -> int:
    """The exit status for the requirements file at `path`: 0 where every line is met by what is installed."""
    from pip._vendor.packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 - may be missing

    for raw in Path(path).read_text(encoding="utf-8").splitlines():
        line = raw.partition(" #")[0].strip()
        if not line or line.startswith("#"):
            continue
        try:
            wanted = Requirement(line)
            if wanted.url or wanted.extras or wanted.marker or not wanted.specifier.contains(version(wanted.name)):
                return 1
        except (InvalidRequirement, PackageNotFoundError):
            return 1
        sys.stdout.write(f"{line} is met by {wanted.name} {version(wanted.name)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
