"""Removal of all files below a directory, however deep a build has nested them.

Runs in a container of the builder. Every directory is moved to the top before it is read, so that no path has more than
two names: engines open a file for each level, and for `rm` and `..` each level takes as long as the tree is deep.
"""

from __future__ import annotations

import os
import sys
import uuid
from itertools import count

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def main(top: str) -> None:
    """Empty the directory `top`."""
    prefix = uuid.uuid4().hex  # no build knows it
    new_names = (f"{prefix}-{number}" for number in count())
    root = os.open(top, _DIRECTORY)
    waiting: list[str] = []

    def clear(directory: int) -> None:
        """Remove the files of a directory, and move its directories to the top."""
        with os.scandir(directory) as found:
            entries = sorted(found, key=lambda entry: entry.is_dir(follow_symlinks=False))
        for entry in entries:  # files first: on a full disk the top may have no room for one more name
            if entry.is_dir(follow_symlinks=False):
                waiting.append(next(new_names))
                os.rename(entry.name, waiting[-1], src_dir_fd=directory, dst_dir_fd=root)
            else:
                os.unlink(entry.name, dir_fd=directory)

    try:
        clear(root)
        while waiting:
            name = waiting.pop()
            directory = os.open(name, _DIRECTORY, dir_fd=root)
            try:
                clear(directory)
            finally:
                os.close(directory)
            os.rmdir(name, dir_fd=root)
    finally:
        os.close(root)


if __name__ == "__main__":
    main(sys.argv[1])
