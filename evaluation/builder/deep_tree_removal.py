"""Removal of all files below a directory, however deep a build has nested them.

Runs in a container of the builder. It goes from level to level by the working directory: `rm` takes minutes for 25,000
levels, and an engine opens a file for each.
"""

from __future__ import annotations

import os
import sys


def main(top: str) -> None:
    """Empty the directory `top`. The working directory is `top` afterwards."""
    os.chdir(top)
    entered: list[str] = []
    waiting = [_clear()]
    while True:
        if waiting[-1]:
            name = waiting[-1].pop()
            os.chdir(name)
            entered.append(name)
            waiting.append(_clear())
        elif entered:
            os.chdir("..")
            os.rmdir(entered.pop())  # noqa: PTH106
            waiting.pop()
        else:
            return


def _clear() -> list[str]:
    """Remove the files of the working directory; return the names of its directories."""
    with os.scandir() as found:
        entries = list(found)  # the directory changes below
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.name)  # noqa: PTH108
    return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]


if __name__ == "__main__":
    main(sys.argv[1])
