"""How many threads numerics libraries use in the programs of the site. They read it once, when they are loaded."""

from __future__ import annotations

import os

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def limit_threads() -> None:
    """Give each process one thread, unless the operator set another number: a host runs a process for each core.

    With more, the threads of several processes wait for each other's core, and the last step of a large round takes
    many times longer. Players have numbers of their own (`evaluation.sandbox.player_environment`).
    """
    for name in VARIABLES:
        os.environ.setdefault(name, "1")
