"""The environment variables that every player gets, in either sandbox, and nothing of ours besides."""

from __future__ import annotations

import math

from evaluation.sandbox.base import SOCKET_VARIABLE, Resources

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def player_environment(resources: Resources, *, socket: str, home: str) -> dict[str, str]:
    """The variables of a player that finds its socket at `socket` and may write below `home`.

    Thread pools get as many threads as whole CPUs, and string hashing is fixed: the same player gives the same labels
    wherever it runs.
    """
    threads = str(max(1, math.floor(resources.cpus)))
    return {
        SOCKET_VARIABLE: socket,
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        # foolbox imports GitPython, which refuses to load where there is no git
        "GIT_PYTHON_REFRESH": "quiet",
        **dict.fromkeys(_THREAD_VARIABLES, threads),
    }
