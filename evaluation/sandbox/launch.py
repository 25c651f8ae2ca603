"""Script that limits its process, ends with its parent, leaves its keyring, and becomes the player's command.

    python -I -S launch.py PARENT-PID DATA-BYTES FILE-BYTES COMMAND...

It is a script because code between fork and exec is not safe in a runner with threads.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_SIGKILL = 9  # importing `signal` would take a third of this program's time
_KEYCTL = {"x86_64": 250, "aarch64": 219}  # the number of the system call, for which libc has no function
_KEYCTL_JOIN_SESSION_KEYRING = 1  # linux/keyctl.h
_OPEN_FILES = 1024


def main() -> None:
    parent, data_bytes, file_bytes = (int(argument) for argument in sys.argv[1:4])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL)
        if os.getppid() != parent:  # it died before the call above
            sys.exit(1)
        # processes inherit this keyring, and what one player adds to it would be there for the next
        if number := _KEYCTL.get(os.uname().machine):
            ctypes.CDLL(None).syscall(number, _KEYCTL_JOIN_SESSION_KEYRING, None)
    # DATA, not AS: torch reserves far more addresses than it uses
    _lower(resource.RLIMIT_DATA, data_bytes)
    _lower(resource.RLIMIT_FSIZE, file_bytes)
    _lower(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _lower(resource.RLIMIT_CORE, 0)
    try:
        os.execvp(sys.argv[4], sys.argv[4:])  # noqa: S606 - without a shell
    except OSError as error:
        sys.exit(f"cannot start {sys.argv[4]}: {error.strerror}")


def _lower(kind: int, limit: int) -> None:
    _, hard = resource.getrlimit(kind)
    allowed = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(kind, (allowed, allowed))


if __name__ == "__main__":
    main()
