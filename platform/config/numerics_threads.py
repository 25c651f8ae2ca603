"""Thread count of the numerics libraries in the site's processes. They read it once, when they are imported."""

from __future__ import annotations

import os

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def limit_threads() -> None:
    """Set one thread per process, unless the operator set another number: a host runs one process per core.

    With more, the threads of several processes wait for each other's core, and the last step of a large round takes
    many times longer. Players have numbers of their own (`evaluation.sandbox.player_environment`).
    """
    for name in VARIABLES:
        os.environ.setdefault(name, "1")
