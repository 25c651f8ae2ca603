"""The `git` command. Every call uses `environment`, so that none depends on the configuration of this host."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from django.conf import settings

from core.errors import Fault
from evaluation.parsing.processor_time_meter import wait

HOOKS = Path(__file__).parent / "hooks"

MAX_MEMORY_BYTES = 3 << 29
"""Address space of each git process: a few kilobytes of deltas can expand to any size, before any hook runs.

A new version of a 256 MiB file, sent as a delta, needs up to five times its size.
"""

MAX_CPU_SECONDS = 300
"""Processor time of each git process, in seconds."""


def limited(cpu_seconds: int) -> tuple[str, ...]:
    """Return how git is started, with this limit of processor time for each of its processes.

    A separate program sets the limits, as code between fork and exec is not safe with threads.
    """
    return ("prlimit", f"--as={MAX_MEMORY_BYTES}", f"--cpu={cpu_seconds}", "git")


COMMAND = limited(MAX_CPU_SECONDS)

SECONDS = 60.0
"""Time limit of a git command that has no other one."""


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return all variables that git sees, with `extra`.

    The push configuration is set here and not in the repositories, so that a changed setting applies to all of them.
    """
    configuration = _configuration()
    variables = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_PARAMETERS": "",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": str(len(configuration)),
    }
    for number, (key, value) in enumerate(configuration.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables | dict(extra or {})


def _configuration() -> dict[str, str]:
    return {
        # the operator decides who owns the folder: hosts that share it may run the site under other user numbers
        "safe.directory": "*",
        "core.hooksPath": str(HOOKS),
        "core.logAllRefUpdates": "false",
        "http.receivepack": "true",
        "http.getanyfile": "false",
        "transfer.fsckObjects": "true",
        "receive.fsckObjects": "true",
        "receive.maxInputSize": str(settings.MAX_PUSH_BYTES),
        "receive.denyDeletes": "false",
        "receive.denyDeleteCurrent": "ignore",
        "receive.autogc": "false",
        "gc.auto": "0",
        "uploadpack.allowAnySHA1InWant": "false",
        # every push is one pack, through which whole files stream; `MAX_MEMORY_BYTES` bounds what deltas expand to,
        # and the packs of a large repository must leave a part of it free
        "transfer.unpackLimit": "1",
        "core.packedGitWindowSize": "32m",
        "core.packedGitLimit": "256m",
        "core.bigFileThreshold": "8m",
        "pack.windowMemory": "64m",
        "pack.threads": "1",
    }


def has_commit(folder: Path, commit: str) -> bool:
    """Return True if the bare repository `folder` exists and has `commit`."""
    if not folder.is_dir():
        return False
    try:
        git(folder, "cat-file", "-e", f"{commit}^{{commit}}")
    except Fault:
        return False
    return True


class GitTimeoutError(Fault):
    """git did not answer within its time limit."""


def git(folder: Path, *arguments: str, seconds: float = SECONDS, extra: Mapping[str, str] | None = None) -> bytes:
    """Return the output of `git ARGUMENTS` in the bare repository `folder`.

    Raise `GitTimeoutError` where it takes longer than `seconds`, and `Fault` where it fails.
    """
    command = f"git {arguments[0]} in {folder}"
    late = threading.Event()
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                [*COMMAND, *arguments],
                cwd=folder,
                env=environment(in_repository(folder, extra)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        except OSError as error:
            raise Fault(f"{command}: {error}") from error

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(seconds, stop)
        timer.start()
        output = b""
        try:
            output = cast("IO[bytes]", process.stdout).read()
        except BaseException:
            process.kill()
            raise
        finally:
            status = wait(process)
            timer.cancel()
            cast("IO[bytes]", process.stdout).close()
        if late.is_set():
            raise GitTimeoutError(f"{command} took more than {seconds:g} s")
        if status:
            errors.seek(0)
            raise Fault(f"{command}: {errors.read().decode(errors='replace') or f'status {status}'}")
    return output


def in_repository(folder: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that bind git to `folder`, independent of this process's environment."""
    return {
        "GIT_DIR": str(folder.resolve()),
        "GIT_OBJECT_DIRECTORY": str(folder.resolve() / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
        "GIT_NAMESPACE": "",
    } | dict(extra or {})


@contextmanager
def new_repository(path: Path) -> Iterator[Path]:
    """Yield a new bare repository, which stands at `path` afterwards, unless another process made it meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".new-") as name:
        fresh = Path(name) / "bare.git"
        fresh.mkdir()
        git(fresh, "init", "--quiet", "--bare", "--template=", "--initial-branch=main")
        yield fresh
        try:
            fresh.rename(path)
        except OSError:
            if not path.is_dir():
                raise


def point_head(path: Path) -> None:
    """Let HEAD name a branch of `path` if it names none that exists: clones check out what it names."""
    lines = git(path, "for-each-ref", "--format=%(HEAD) %(refname)", "refs/heads").decode().splitlines()
    if lines and not any(line.startswith("*") for line in lines):
        git(path, "symbolic-ref", "HEAD", lines[0].split()[-1])
