"""Adapter: checks of a commit's files, manifest and build plan before anything is built."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from django.conf import settings

from competitions.models import Competition
from core.errors import Fault, Refusal
from evaluation.builder.build_plan import plan_apart
from evaluation.builder.manifest import (
    MANIFEST_NAME,
    MAX_MANIFEST_BYTES,
    Manifest,
    irregular_manifest,
    missing_manifest,
    parse_apart,
)
from evaluation.builder.pack_detection import CONFIGURATION_FILES, check_configuration_size
from evaluation.builder.run_script import require_script
from evaluation.builder.source_tree import BINDER_DIRECTORIES
from evaluation.domain.errors import HostRefusal
from repositories.file_rules import check_files
from repositories.git_reader import GitReader, TreeFile
from repositories.models import Repository
from submissions.checked_commit import CheckedCommit
from submissions.preflight_2017 import check_2017
from submissions.preflight_2018 import check_2018, is_2018
from workers.selectors import gpu_worker_is_live

_PLANNED_BYTES = 256 << 10
"""A configuration file larger than this is left to the build; a Dockerfile is refused."""

_PLAIN_FILES = ("100644", "100755")


def check_content(repository: Repository, commit: str, reader: GitReader) -> CheckedCommit:
    """Check the files of `commit`, its manifest and its build plan; raise `Refusal` for the first error."""
    files = reader.files(commit)
    check_files(files, reader)
    if repository.track.competition.format == Competition.Format.TRANSFER:
        checked = check_2017(repository.track.name, commit, files, reader)
        if settings.SANDBOX != "process" and checked.own_image:
            _plan_of(files, reader)
        return checked
    if is_2018({file.path for file in files}):
        return check_2018(repository.track.name, files, reader)
    manifest = _manifest(commit, files, reader)
    if manifest.track != (track_name := repository.track.name):
        raise Refusal(
            f'{MANIFEST_NAME} says track = "{manifest.track}", but this repository is for the track "{track_name}"',
            fix=f'write track = "{track_name}", or push to the team\'s repository {manifest.track}.git',
        )
    if manifest.gpu and not gpu_worker_is_live():  # its build would be useless
        raise Refusal(
            f"{MANIFEST_NAME} says gpu = true, and no worker with a GPU is running now",
            fix="write gpu = false if a CPU is enough, or push again when the Status page shows a GPU worker",
        )
    require_script(manifest.run, [file.path for file in files])
    return CheckedCommit(manifest.title, manifest.licence, _plan_of(files, reader))


def _manifest(commit: str, files: Sequence[TreeFile], reader: GitReader) -> Manifest:
    file = next((file for file in files if file.path == MANIFEST_NAME), None)
    if file is None:
        raise missing_manifest(f"commit {commit[:7]}")
    if file.mode not in _PLAIN_FILES:
        raise irregular_manifest()
    return parse_apart(reader.content(file.object, MAX_MANIFEST_BYTES + 1))


def _plan_of(files: Sequence[TreeFile], reader: GitReader) -> str:
    """Return one line on how a commit with `files` will be built; raise `BuildRefusal` if it cannot be."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-plan-") as name:
        folder = Path(name)
        for file in files:
            top, below, _ = file.path.partition("/")
            if below and top in BINDER_DIRECTORIES:  # its existence counts, not its content
                (folder / top).mkdir(exist_ok=True)
            if file.path not in CONFIGURATION_FILES:
                continue
            check_configuration_size(file.path, file.size)
            if file.mode in _PLAIN_FILES and file.size <= _PLANNED_BYTES:
                (folder / file.path).write_bytes(reader.content(file.object, _PLANNED_BYTES))
            elif PurePosixPath(file.path).name == "Dockerfile":
                raise Refusal(
                    f"{file.path} is not a plain file of at most {_PLANNED_BYTES >> 10} KiB",
                    fix="commit the Dockerfile itself instead of a link, and move long scripts into separate files",
                )
        return _plan(folder)


def _plan(folder: Path) -> str:
    try:
        return plan_apart(settings.SANDBOX, folder)
    except HostRefusal as refusal:
        raise Fault(f"the site cannot plan builds: {refusal.problem}") from refusal
