"""The command line of bubblewrap: namespaces of its own, the host's files read-only, little of them in sight."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

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
    devices: bool = False,
    status: int | None = None,
) -> list[str]:
    """`command` in bubblewrap, run in `directory`.

    Homes and temporary files of the host are hidden; of what lies in them only `directory`, `visible` and the running
    interpreter are shown. `devices` shows the host's /dev, which a GPU needs. bubblewrap writes to the descriptor
    `status`, which the command does not get, how far it came: see `began`.
    """
    reports = [] if status is None else ["--json-status-fd", str(status)]
    arguments = ["bwrap", *reports, *_NAMESPACES, "--ro-bind", "/", "/", "--proc", "/proc"]
    arguments += ["--dev-bind", "/dev", "/dev"] if devices else ["--dev", "/dev"]
    hidden = [str(path) for path in _hidden_directories()]
    for path in hidden:
        arguments += ["--tmpfs", path]
    arguments += ["--size", str(_SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm"]  # noqa: S108 - the same
    arguments += ["--size", str(scratch_bytes), "--tmpfs", HOME]
    for shown in dict.fromkeys(os.path.realpath(path) for path in [*_interpreter(), directory, *visible]):
        arguments += ["--ro-bind", shown, shown]
    arguments += ["--ro-bind", str(socket_directory), SOCKET_DIRECTORY]
    for path in hidden if devices else [*hidden, "/dev"]:
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


def _hidden_directories() -> list[Path]:
    candidates = [
        Path.home(),
        Path("/home"),
        Path("/root"),
        Path("/run"),
        Path("/var/tmp"),  # noqa: S108 - hidden, not used
        Path("/mnt"),
        Path("/media"),
    ]
    real = dict.fromkeys(Path(os.path.realpath(path)) for path in candidates if path.is_dir())
    return [path for path in real if path not in (Path("/"), Path(HOME))]


def _interpreter() -> list[Path]:
    # the executable's own folder too: a virtual environment's python is a link into another installation
    return [Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent.parent]
