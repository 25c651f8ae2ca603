"""Files that the user of a container wrote: only that user may change them, unless this process is root."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from evaluation.domain.errors import Fault
from evaluation.domain.players import Program
from evaluation.sandbox.base import Folder, Resources, Sandbox

_POLL_SECONDS = 0.02
_READABLE_SECONDS, _REMOVAL_SECONDS = 60.0, 600.0
_REMOVE = 'chmod -R u+rwX -- "$@"; rm -rf -- "$@"; true'
"""`rm` leaves the mounted directories themselves."""


def make_readable(sandbox: Sandbox, directories: Sequence[Path], socket_directory: Path) -> bool:
    """Let this user read what is in `directories`; return False if this took too long.

    `mkstemp`, with which careful programs write their files, gives them the mode 0600. Raise `Fault` if the host fails.
    """
    if os.geteuid() == 0:
        return True
    return _run(sandbox, directories, socket_directory, ("/bin/chmod", "-R", "a+rwX"), _READABLE_SECONDS)


def remove_contents(sandbox: Sandbox, directories: Sequence[Path], socket_directory: Path) -> None:
    """Remove from `directories` what only that user may remove: files in a directory with the sticky bit or an ACL.

    Raise `Fault` if the host fails.
    """
    _run(sandbox, directories, socket_directory, ("/bin/sh", "-c", _REMOVE, "sh"), _REMOVAL_SECONDS)


def _run(
    sandbox: Sandbox, directories: Sequence[Path], socket_directory: Path, command: Sequence[str], seconds: float
) -> bool:
    """Run `command` with the places of `directories` as that user; return False if it was stopped after `seconds`.

    The image is that of the site: the program's could hold a `chmod` of its own, and go on computing in it.
    """
    folders = [Folder(directory, f"/written/{number}", writable=True) for number, directory in enumerate(directories)]
    program = Program(
        name=f"a container that runs {command[0]}",
        command=(*command, *(folder.place for folder in folders)),
        digest="",
        image=sandbox.base_image,
    )
    run = sandbox.start(program, socket_directory=socket_directory, resources=Resources(), folders=folders)
    deadline = time.monotonic() + seconds
    try:
        while not (ended := run.ended()) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
    finally:
        ending = run.end()
    # its exit status says nothing: what this process wrote belongs to another user
    if ending.host_failure:
        raise Fault(f"files of a container could not be changed: {ending.host_failure}")
    return ended
