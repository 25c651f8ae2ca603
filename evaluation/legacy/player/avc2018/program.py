"""The program of a submission of 2018: `bash run.sh` with the environment that it had then."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Dict

from legacy_compatibility.interpreter import interpreter_variables

PATIENCE = 5.0
"""Seconds that a program has to end after `attack_complete`."""

COMMAND = ("bash", "run.sh")


def program_environment(scratch: Path) -> Dict[str, str]:
    """Return the variables of 2018 for a program that may write below `scratch`."""
    return {
        **os.environ,
        **interpreter_variables(),
        "MODEL_SERVER": "localhost",
        "MODEL_PORT": "8989",
        "GPU": "0",
        "NUM_IMAGES": "100",
        "CROWDAI_IS_GRADING": "1",
        "INPUT_IMG_PATH": str(scratch / "images"),
        "INPUT_YML_PATH": str(scratch / "images.yml"),
        "OUTPUT_ADVERSARIAL_PATH": str(scratch / "adversarials"),
    }


class ProgramRun:
    """One run of the program, in a process group of its own."""

    def __init__(self, environment: Dict[str, str]) -> None:
        self._process = subprocess.Popen(COMMAND, env=environment, stdin=subprocess.DEVNULL, start_new_session=True)

    def exit_code(self) -> int | None:
        """Return its exit status; None while it runs."""
        return self._process.poll()

    def end(self, patience: float = 0.0) -> None:
        """Wait for its end for `patience` seconds, then kill it and what it started."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
