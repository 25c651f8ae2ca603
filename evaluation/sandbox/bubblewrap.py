"""The command line of bubblewrap: namespaces of its own, and of the host's files, read-only, what a player needs."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from evaluation.sandbox.player_root import DEVICES, mounts, system_links

SOCKET_DIRECTORY = "/run/gauntlet"
"""Where a wrapped player finds its socket."""

HOME = "/tmp"  # noqa: S108 - a file system of the player's own
"""The one place where a wrapped player may write files."""

NO_SUCH_COMMAND = "bwrap: execvp "
"""How bubblewrap begins to say that everything is set up but there is no such command: a player's own mistake."""

_SHARED_MEMORY_BYTES = 64 << 20
_NAMESPACES = (
    *("--unshare-user-try", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--hostname", "player", "--cap-drop", "ALL", "--new-session", "--die-with-parent"),
)


def wrapped(
    command: Iterable[str],
    *,
    directory: Path,
    visible: Iterable[Path],
    socket_directory: Path,
    scratch_bytes: int,
    hidden: Iterable[Path] = (),
    devices: bool = False,
    status: int | None = None,
) -> list[str]:
    """`command` in bubblewrap, run in `directory`.

    Its root is empty but for the system's programs and libraries, the running interpreter, `directory` and `visible`.
    Of these what is `hidden` is not there. `devices` shows the GPUs of the host. bubblewrap writes to the descriptor
    `status`, which the command does not get, how far it came: see `began`.
    """
    reports = [] if status is None else ["--json-status-fd", str(status)]
    arguments = ["bwrap", *reports, *_NAMESPACES, *system_links(), "--proc", "/proc", "--dev", "/dev"]
    arguments += ["--size", str(_SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm"]  # noqa: S108 - the same
    arguments += ["--size", str(scratch_bytes), "--tmpfs", HOME]
    if devices:
        for device in sorted(path for name in DEVICES for path in Path("/dev").glob(name)):
            arguments += ["--dev-bind", str(device), str(device)]
    read_only = ["/dev", "/"]
    for place, source in mounts([directory, *visible], hidden, devices=devices):
        if source is not None:
            arguments += ["--ro-bind", str(source), str(place)]
        else:
            arguments += ["--tmpfs", str(place)]
            read_only.append(str(place))
    arguments += ["--ro-bind", str(socket_directory), SOCKET_DIRECTORY]
    for path in read_only:
        arguments += ["--remount-ro", path]
    return [*arguments, "--chdir", os.path.realpath(directory), *command]


def began(report: bytes) -> bool:
    """Whether the command was begun, by what bubblewrap wrote to its status descriptor until its end.

    It reports an exit status only of a command that it could execute, however that ended.
    """
    for line in report.splitlines():
        with contextlib.suppress(ValueError):
            if "exit-code" in json.loads(line):
                return True
    return False


@functools.cache
def bubblewrap_works() -> bool:
    """Whether bubblewrap is installed and this host lets it make its namespaces; asked once in a process."""
    if shutil.which("bwrap") is None:
        return False
    with tempfile.TemporaryDirectory() as empty:
        here = Path(empty)
        trial = wrapped(["true"], directory=here, visible=[], socket_directory=here, scratch_bytes=1 << 20)
        return subprocess.run(trial, capture_output=True, check=False, timeout=30).returncode == 0
