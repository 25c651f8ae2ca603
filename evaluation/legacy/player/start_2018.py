"""Start a submission of 2018 in its folder: `python start_2018.py model` or `python start_2018.py attack`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from avc2018.program import COMMAND, program_environment
from avc2018.supervisor import AttackSupervisor


def main(side: str) -> int:
    """Become `bash run.sh` for a model; supervise it for an attack, and return the exit status."""
    scratch = Path(tempfile.mkdtemp(prefix="2018-"))
    if side == "model":
        os.execvpe(COMMAND[0], COMMAND, program_environment(scratch))
    return AttackSupervisor(scratch).play()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
