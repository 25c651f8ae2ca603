"""The speed of this worker, by which every limit is scaled: limits are seconds of the reference machine."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

import numpy as np

from evaluation.domain.errors import Fault

REFERENCE_SECONDS = 0.0025
"""Seconds of `measure` on the reference machine (one 2.x GHz server core, 2026); slower workers get more time."""


def calibrate() -> float:
    """Return this worker's factor on every limit: 1 on the reference machine or a faster one, more on a slower one.

    It is measured in a separate process whose libraries use one thread, as those of players do: several threads that
    wait for each other on a busy host would make it look a hundred times slower. Raise `Fault` where the process fails.
    """
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, "-m", "evaluation.sandbox.host_speed"]
    try:
        done = subprocess.run(command, env=os.environ | one_thread, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Fault(f"the speed of this host could not be measured: {error}") from error
    return max(1.0, float(done.stdout) / REFERENCE_SECONDS)


def measure() -> float:
    """Return the seconds of a fixed computation like that of a small network: matrix products in single precision."""
    matrix = np.full((256, 256), 0.5, np.float32)
    start = time.perf_counter()
    for _ in range(8):
        matrix = np.maximum(matrix @ matrix * np.float32(1 / 128), 0)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.stdout.write(f"{statistics.median(measure() for _ in range(5))}\n")
