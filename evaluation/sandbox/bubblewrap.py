"""Command line of bubblewrap: separate namespaces, and read-only access to the host files that a player needs."""

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

from evaluation.sandbox.base import Folder
from evaluation.sandbox.hidden_host_figures import device_figures, empty_file, process_figures
from evaluation.sandbox.player_root import DEVICES, Mount, mounts, system_links

SOCKET_DIRECTORY = "/run/gauntlet"
"""The directory of a wrapped player's socket."""

HOME = "/tmp"  # noqa: S108 - a private file system of the player
"""The only directory where a wrapped player may write files."""

NO_SUCH_COMMAND = "bwrap: execvp "
"""The start of bubblewrap's message for a command that does not exist: an error of the player."""

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
    folders: Iterable[Folder] = (),
    hidden: Iterable[Path] = (),
    devices: bool = False,
    status: int | None = None,
) -> list[str]:
    """Return the command line that runs `command` in bubblewrap, in `directory`.

    Its root contains only the system's programs and libraries, the current interpreter, `directory` and `visible`,
    without the paths in `hidden` and the figures of the whole host, and `folders` at their places. The command starts
    in the working folder, if there is one: then `directory` is not visible. `devices` shows the GPUs of the host.
    bubblewrap writes its progress to the descriptor `status`, which the command does not get: see `command_started`.
    """
    reports = [] if status is None else ["--json-status-fd", str(status)]
    arguments = ["bwrap", *reports, *_NAMESPACES, *system_links(), "--proc", "/proc", "--dev", "/dev"]
    arguments += ["--size", str(_SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm"]  # noqa: S108 - the same
    arguments += ["--size", str(scratch_bytes), "--tmpfs", HOME]
    if devices:
        for device in sorted(path for name in DEVICES for path in Path("/dev").glob(name)):
            arguments += ["--dev-bind", str(device), str(device)]
    read_only = ["/dev", "/"]
    folders = tuple(folders)
    working = next((folder.place for folder in folders if folder.working), None)
    shown = [*visible] if working else [directory, *visible]
    empty = empty_file()
    figures: list[Mount] = [(path, None if path.is_dir() else empty) for path in process_figures()]
    for place, source in [*figures, *mounts(shown, [*hidden, *device_figures()], devices=devices)]:
        if source is not None:
            arguments += ["--ro-bind", str(source), str(place)]
        else:
            arguments += ["--tmpfs", str(place)]
            read_only.append(str(place))
    arguments += ["--ro-bind", str(socket_directory), SOCKET_DIRECTORY]
    for folder in folders:
        arguments += ["--bind" if folder.writable else "--ro-bind", str(folder.source), folder.place]
    for path in read_only:
        arguments += ["--remount-ro", path]
    return [*arguments, "--chdir", working or os.path.realpath(directory), *command]


def command_started(report: bytes) -> bool:
    """Return True if the command started, according to bubblewrap's output on its status descriptor.

    It reports an exit status only for a command that it could execute.
    """
    for line in report.splitlines():
        with contextlib.suppress(ValueError):
            if "exit-code" in json.loads(line):
                return True
    return False


@functools.cache
def bubblewrap_works() -> bool:
    """Return True if bubblewrap is installed and may create namespaces on this host; checked once per process."""
    if shutil.which("bwrap") is None:
        return False
    with tempfile.TemporaryDirectory() as empty:
        here = Path(empty)
        trial = wrapped(["true"], directory=here, visible=[], socket_directory=here, scratch_bytes=1 << 20)
        return subprocess.run(trial, capture_output=True, check=False, timeout=30).returncode == 0
