"""Time: what each player may use, and how fast this worker is.

Limits are seconds of the reference machine. Neither player's time depends on the other: the attack's clock stands
still while the model works, and the model's while the attack does.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np

from evaluation.domain.errors import Fault

MODEL_GRACE_SECONDS = 10.0
"""What a model may overdraw: a hiccup of a busy host costs nobody a match, an endless loop ends within it.

It is drawn from when a frame takes longer than its images allow, and filled up again by frames that take less.
"""

REFERENCE_SECONDS = 0.0025
"""What `measure` gives on the reference machine (one core of a 2.x GHz server, 2026); slower workers get more time."""


@dataclass
class TimeBank:
    """Seconds that a player has used of those it was allowed."""

    allowed: float
    used: float = 0.0

    @property
    def left(self) -> float:
        return self.allowed - self.used


def calibrate() -> float:
    """This worker's factor on every limit: 1 on the reference machine or a faster one, larger on a slower one.

    Measured in a process of its own whose libraries use one thread, like those of players: several threads that wait
    for each other on a busy host would make it seem a hundred times slower. Raises `Fault` where none can be started.
    """
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, "-m", "evaluation.referee.clock"]
    try:
        done = subprocess.run(command, env=os.environ | one_thread, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Fault(f"the speed of this host could not be measured: {error}") from error
    return max(1.0, float(done.stdout) / REFERENCE_SECONDS)


def measure() -> float:
    """Seconds of a fixed piece of work like a small network's: matrix products in single precision."""
    matrix = np.full((256, 256), 0.5, np.float32)
    start = time.perf_counter()
    for _ in range(8):
        matrix = np.maximum(matrix @ matrix * np.float32(1 / 128), 0)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.stdout.write(f"{statistics.median(measure() for _ in range(5))}\n")
