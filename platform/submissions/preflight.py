"""Adapter: checks of a commit by the engine's builder before anything is built."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from django.conf import settings

from core.errors import Fault, Refusal
from evaluation.builder.dry_run import CONFIGURATION_FILES, plan_build
from evaluation.builder.manifest import (
    MANIFEST_NAME,
    MAX_MANIFEST_BYTES,
    Manifest,
    irregular_manifest,
    missing_manifest,
    parse_manifest,
)
from evaluation.builder.run_script import require_script
from evaluation.builder.source_tree import BINDER_DIRECTORIES
from evaluation.domain.errors import HostRefusal
from repositories.git_reader import GitReader, TreeFile

MAX_CONFIGURATION_BYTES = 256 << 10
"""A configuration file larger than this is left to the build; a Dockerfile is refused."""

_PLAN_SECONDS = 20.0
_PLAIN_FILES = ("100644", "100755")


def manifest_at(reader: GitReader, commit: str, files: Sequence[TreeFile] | None = None) -> Manifest:
    """Return the checked `submission.toml` of `commit`; reads its `files` if not given. Raise `ManifestRefusal`."""
    present = files if files is not None else reader.files(commit)
    file = next((file for file in present if file.path == MANIFEST_NAME), None)
    if file is None:
        raise missing_manifest(f"commit {commit[:7]}")
    if file.mode not in _PLAIN_FILES:
        raise irregular_manifest()
    return parse_manifest(reader.content(file.object, MAX_MANIFEST_BYTES + 1))


def check_script(manifest: Manifest, files: Sequence[TreeFile]) -> None:
    """Raise `ManifestRefusal` if `run` starts a script that is certainly not among `files`."""
    require_script(manifest.run, [file.path for file in files])


def plan_of(reader: GitReader, files: Sequence[TreeFile]) -> str:
    """Return one line on how a commit with `files` will be built; raise `BuildRefusal` if it cannot be."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-plan-") as name:
        folder = Path(name)
        for file in files:
            top, below, _ = file.path.partition("/")
            if below and top in BINDER_DIRECTORIES:  # its existence counts, not its content
                (folder / top).mkdir(exist_ok=True)
            if file.path not in CONFIGURATION_FILES:
                continue
            if _is_small_and_plain(file):
                (folder / file.path).write_bytes(reader.content(file.object, MAX_CONFIGURATION_BYTES))
            elif PurePosixPath(file.path).name == "Dockerfile":
                raise Refusal(
                    f"{file.path} is not a plain file of at most {MAX_CONFIGURATION_BYTES >> 10} KiB",
                    fix="commit the Dockerfile itself instead of a link, and move long scripts into separate files",
                )
        return _process_plan(folder) if settings.SANDBOX == "process" else _plan_in_subprocess(folder)


def _is_small_and_plain(file: TreeFile) -> bool:
    return file.mode in _PLAIN_FILES and file.size <= MAX_CONFIGURATION_BYTES


def _process_plan(folder: Path) -> str:
    try:
        return plan_build("process", folder)
    except HostRefusal as refusal:
        raise Fault(f"the site cannot plan builds: {refusal.problem}") from refusal


def _plan_in_subprocess(folder: Path) -> str:
    """Return the plan for Docker, made in a subprocess: repo2docker reads from the working directory."""
    command = [sys.executable, "-m", "evaluation.builder.dry_run", settings.SANDBOX, str(folder)]
    try:
        process = subprocess.run(command, capture_output=True, check=True, timeout=_PLAN_SECONDS, text=True)
        answer = json.loads(process.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise Fault(f"the site cannot plan builds: {getattr(error, 'stderr', '') or error}") from error
    if "plan" in answer:
        return str(answer["plan"])
    raise Refusal(answer["problem"], fix=answer["fix"])
