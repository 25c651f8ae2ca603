"""The resource limits of a run of the transfer format: those of 2017, on the site and in the command alike."""

from __future__ import annotations

import os

from evaluation.sandbox.base import Resources

_CPUS = 3.75
_MEMORY_BYTES = 24 << 30
_SCRATCH_BYTES = 2 << 30
"""The disk had no limit in 2017."""


def resources(gpu: str | None = None) -> Resources:
    """Return the limits of a run, with fewer processors where the host has fewer; `gpu` as in `Resources`."""
    return Resources(
        cpus=min(_CPUS, os.cpu_count() or 1), memory_bytes=_MEMORY_BYTES, scratch_bytes=_SCRATCH_BYTES, gpu=gpu
    )
