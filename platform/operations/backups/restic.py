"""The backup program restic, which encrypts, stores what is new, and checks what it reads.

The operator's environment names repository and password, in restic's own variables.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings

from core.errors import Fault, Refusal

_REMOTE = re.compile(r"[a-z0-9]+:")
"""How the address of a repository begins that is no folder of this host."""

_TAG, _INCOMPLETE_TAG = "gauntlet", "incomplete"
"""Tags of snapshots, and of those that lack a file which could not be read."""

_INCOMPLETE = 3
"""Exit status of a backup in which some files could not be read."""


class Stored(NamedTuple):
    """One backup: the identifier of its snapshot, files and bytes in all, and the bytes that were new."""

    snapshot: str
    files: int
    bytes: int
    new_bytes: int


def require_repository() -> None:
    """Raise `Refusal` where restic, its repository or its password is missing or wrong."""
    names = ("RESTIC_REPOSITORY", "RESTIC_REPOSITORY_FILE")
    if not any(os.environ.get(name) for name in names):
        raise Refusal(
            "RESTIC_REPOSITORY names no backup repository",
            fix="set it to a folder on another disk, or to an address such as sftp:HOST:FOLDER or s3:https://HOST/BUCKET",
        )
    if not any(os.environ.get(name) for name in ("RESTIC_PASSWORD_FILE", "RESTIC_PASSWORD", "RESTIC_PASSWORD_COMMAND")):
        raise Refusal(
            "the password of the backup repository is missing",
            fix="write one into a file of mode 0600, name it in RESTIC_PASSWORD_FILE, and keep a copy elsewhere: "
            "without it no backup can be read",
        )
    _require_apart()
    try:
        _run("cat", "config")
    except Fault as fault:
        raise Refusal(
            f"the backup repository cannot be opened: {fault}",
            fix="run `restic init` once for a new repository, or correct RESTIC_REPOSITORY and the password",
        ) from fault


def _require_apart() -> None:
    """Raise `Refusal` for a repository in the state folder: each backup would store all earlier ones again."""
    named = os.environ.get("RESTIC_REPOSITORY", "")
    if not named:
        with suppress(OSError, UnicodeError):  # restic says what is wrong with it
            named = (settings.STATE / os.environ["RESTIC_REPOSITORY_FILE"]).read_text(encoding="utf-8").strip()
    if not named or _REMOTE.match(named.removeprefix("local:")):
        return
    place = (settings.STATE / named.removeprefix("local:")).resolve()  # as restic, which is started there
    if place.is_relative_to(settings.STATE.resolve()):
        raise Refusal(
            f"the backup repository {place} is in the state folder, so that each backup would hold all earlier ones",
            fix="move it to a folder on another disk, and name that in RESTIC_REPOSITORY",
        )


def back_up(folder: Path, names: Sequence[str]) -> Stored:
    """Store these entries of `folder` in a new snapshot. A file that was removed meanwhile is left out.

    Raise `Fault` where it fails, or where a file that is there cannot be read: `restore` takes such a snapshot only by
    its identifier.
    """
    done = _start("backup", "--json", "--tag", _TAG, *names, folder=folder)
    messages = [*_messages(done.stdout), *_messages(done.stderr)]
    if done.returncode not in {0, _INCOMPLETE}:
        raise Fault(f"restic backup: {_ending(done)}")
    summary = next((one for one in messages if one.get("message_type") == "summary"), None)
    if summary is None:
        raise Fault(f"restic backup made no snapshot: {_ending(done)}")
    for message in messages:
        item = str(message.get("item", ""))
        if message.get("message_type") == "error" and (folder / item).exists():
            unread = f"restic backup: {item or 'a file'} cannot be read: {message.get('error')}"
            _mark_incomplete(summary["snapshot_id"], unread)
            raise Fault(unread)
    return Stored(
        summary["snapshot_id"],
        summary["total_files_processed"],
        summary["total_bytes_processed"],
        summary["data_added"],
    )


def _mark_incomplete(snapshot: str, why: str) -> None:
    """Take the tag from a snapshot by which `restore` finds the newest one. Raise `Fault` where it fails."""
    try:
        _run("tag", "--set", _INCOMPLETE_TAG, snapshot)
    except Fault as fault:
        raise Fault(f"{why}; remove the snapshot {snapshot}, or it is restored as the newest one: {fault}") from fault


def restore(snapshot: str, folder: Path) -> None:
    """Write all files of a snapshot ("latest": the newest complete one) into `folder`. Raise `Fault` where it fails.

    Each is compared with its digest.
    """
    chosen = [snapshot, "--tag", _TAG] if snapshot == "latest" else [snapshot]
    _run("restore", *chosen, "--target", str(folder), "--verify")


def _run(*arguments: str) -> str:
    """Return what `restic ARGUMENTS` prints. Raise `Fault` where it fails."""
    done = _start(*arguments, folder=settings.STATE)
    if done.returncode:
        raise Fault(f"restic {arguments[0]}: {_ending(done)}")
    return done.stdout


def _start(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    variables = {
        "RESTIC_CACHE_DIR": str(settings.STATE / "cache-of-backups"),
        "RESTIC_PROGRESS_FPS": "0.01",
    } | os.environ
    try:
        return subprocess.run(
            ["restic", "--no-lock" if arguments[0] == "cat" else "--quiet", *arguments],
            cwd=folder, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise Refusal("restic is not installed", fix="install it: apt-get install restic") from error


def _messages(output: str) -> list[dict[str, Any]]:
    """Return the JSON objects among the lines of an output."""
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def _ending(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.strip()[-2000:] or f"status {done.returncode}"
