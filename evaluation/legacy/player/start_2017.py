"""Start a submission of 2017 in its folder: `python start_2017.py ENTRY_POINT ARGUMENTS`."""

from __future__ import annotations

import os
import sys
from typing import List

from legacy_compatibility.interpreter import interpreter_variables

_NOT_STARTED = 127  # as a shell says it


def main(command: List[str]) -> int:
    """Become the entry point; return an exit status if it cannot start."""
    try:
        os.execvpe(command[0], command, {**os.environ, **interpreter_variables()})
    except OSError as error:
        print("{}: cannot start: {}".format(command[0], error.strerror), file=sys.stderr)
        return _NOT_STARTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
