"""The `git` command. Every call uses `environment`, so that none depends on the configuration of this host."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings
from git.cmd import Git
from git.exc import GitCommandError

from core.errors import Fault

HOOKS = Path(__file__).parent / "hooks"

MAX_MEMORY_BYTES = 3 << 29
"""Address space of each git process: a few kilobytes of deltas can expand to any size, before any hook runs.

A new version of a 256 MiB file, sent as a delta, needs up to five times its size.
"""

COMMAND = ("prlimit", f"--as={MAX_MEMORY_BYTES}", "git")
"""How git is started: a separate program sets the limit, as code between fork and exec is not safe with threads."""


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


def git(folder: Path, *arguments: str, extra: Mapping[str, str] | None = None) -> bytes:
    """Return the output of `git ARGUMENTS` in the bare repository `folder`; raise `Fault` where it fails."""
    try:
        printed = Git(folder).execute(
            [*COMMAND, *arguments],
            env=environment(in_repository(folder, extra)),
            stdout_as_string=False,
            strip_newline_in_stdout=False,
        )
    except GitCommandError as error:
        raise Fault(f"git {arguments[0]} in {folder}: {error.stderr}") from error
    return printed


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


def git_output(folder: Path, *arguments: str, seconds: float, extra: Mapping[str, str] | None = None) -> bytes:
    """Return the output of git as `git` does, within `seconds`; raise `GitTimeoutError` otherwise."""
    try:
        process = subprocess.run(
            [*COMMAND, *arguments],
            cwd=folder,
            env=environment(in_repository(folder, extra)),
            capture_output=True,
            check=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise GitTimeoutError(f"git {arguments[0]} in {folder} took more than {seconds:g} s") from error
    except (OSError, subprocess.CalledProcessError) as error:
        output = getattr(error, "stderr", b"").decode(errors="replace")
        raise Fault(f"git {arguments[0]} in {folder}: {output or error}") from error
    return process.stdout


def in_repository(folder: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that bind git to `folder`, independent of this process's environment."""
    return {
        "GIT_DIR": str(folder.resolve()),
        "GIT_OBJECT_DIRECTORY": str(folder.resolve() / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
        "GIT_NAMESPACE": "",
    } | dict(extra or {})
