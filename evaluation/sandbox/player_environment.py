"""Environment variables of every player, in both sandboxes, and the host names that it knows: nothing of the host's."""

from __future__ import annotations

import math

from evaluation.sandbox.base import SOCKET_VARIABLE, Resources

HOSTS = "127.0.0.1 localhost player\n::1 localhost player\n"
"""The content of a player's /etc/hosts."""

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def player_environment(resources: Resources, *, socket: str, home: str) -> dict[str, str]:
    """Return the variables of a player whose socket is `socket` and that may write below `home`.

    Thread pools get one thread per whole CPU, and string hashing is fixed, so that a player gives the same labels
    on every host.
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
        # foolbox imports GitPython, which fails to load without git
        "GIT_PYTHON_REFRESH": "quiet",
        **dict.fromkeys(_THREAD_VARIABLES, threads),
    }
