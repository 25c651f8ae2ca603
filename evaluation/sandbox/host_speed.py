"""The speed of this worker, by which every limit is scaled: limits are seconds of the reference machine.

The factor of a processor scales the limits of players that compute on it, the factor of a device those of players with
`gpu = true`. Both are measured in what a player is charged: processor time, and time on the device.
"""

from __future__ import annotations

import functools
import gc
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from evaluation.domain.errors import Fault

REFERENCE_SECONDS = 0.0025
"""Processor seconds of `measure` on the reference machine (one 2.x GHz server core, 2026); slower workers get more."""

REFERENCE_DEVICE_SECONDS = 0.0061
"""Seconds of `measure_device` on the reference device: its 17.2 billion operations at 2.8 teraflops, the peak of one of
the two processors of a K80 in single precision (NVIDIA's data sheet), on which the limits of 2018 were set."""

RUNS, DEVICE_RUNS = 20, 50
"""Number of runs, of which the fastest counts: other programs make some of them slower, and none faster. Devices raise
their clock in the first ones."""


def calibrate(device: str | None = None) -> float:
    """Return this worker's factor on every limit: 1 on the reference machine or a faster one, more on a slower one.

    `device` names a GPU, as in `CUDA_VISIBLE_DEVICES`; None measures a processor. It is measured in a separate process
    whose libraries use one thread, as those of players do: several threads that wait for each other on a busy host
    would make it look a hundred times slower. Raise `Fault` where the process fails, or sees no such device.
    """
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    visible = {} if device is None else {"CUDA_VISIBLE_DEVICES": device}
    what = "processor" if device is None else "device"
    command = [sys.executable, "-m", "evaluation.sandbox.host_speed", what]
    try:
        done = subprocess.run(command, env=os.environ | one_thread | visible, capture_output=True, text=True)
    except OSError as error:
        raise Fault(f"the speed of this host could not be measured: {error}") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        name = "this host" if device is None else f"GPU {device}"
        raise Fault(f"the speed of {name} could not be measured: {last}")
    return max(1.0, float(done.stdout) / (REFERENCE_SECONDS if device is None else REFERENCE_DEVICE_SECONDS))


@functools.cache
def processor_factor() -> float:
    """Return the factor of this host's processor, measured once in this process: for commands, which end soon."""
    return calibrate()


def measure() -> float:
    """Return the processor seconds of a fixed computation like that of a small network: products of matrices."""
    matrix = np.full((256, 256), 0.5, np.float32)
    start = time.thread_time()
    for _ in range(8):
        matrix = np.maximum(matrix @ matrix * np.float32(1 / 128), 0)
    return time.thread_time() - start


def measure_device() -> float:
    """Return the seconds on the first visible GPU of the same computation with larger matrices, in single precision.

    The device's own clock counts, so a busy processor changes nothing. Raise `RuntimeError` without a GPU.
    """
    import torch  # noqa: PLC0415 - only hosts with a GPU need it

    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no such GPU. Install its CUDA build, and check GAUNTLET_WORKER_DEVICES")
    matrix = torch.full((1024, 1024), 0.5, device="cuda")
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    for _ in range(8):
        matrix = torch.relu(matrix @ matrix * (1 / 512))
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / 1000.0


def fastest(run: Callable[[], float], runs: int, reference: float) -> float:
    """Return the least of `runs` results of `run`, or the first that is at most `reference`: no factor is below 1."""
    least = math.inf
    for _ in range(runs):
        least = min(least, run())
        if least <= reference:
            break
    return least


if __name__ == "__main__":
    on_device = measure_device, DEVICE_RUNS, REFERENCE_DEVICE_SECONDS
    measured = fastest(*(on_device if sys.argv[1:] == ["device"] else (measure, RUNS, REFERENCE_SECONDS)))
    sys.stdout.write(f"{measured}\n")
    gc.freeze()  # no garbage collection at exit: the memory is freed with the process
