"""Checks of a commit of the curves format."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import Refusal
from evaluation.builder.manifest import (
    MANIFEST_NAME,
    MAX_MANIFEST_BYTES,
    irregular_manifest,
    missing_manifest,
    parse_within_limits,
)
from evaluation.builder.run_script_check import require_script
from formats.curves.tracks import MODEL
from repositories.git_reader import GitReader, TreeFile
from submissions.build_plans import PLAIN_FILES, plan_of
from submissions.checked_commit import CheckedCommit
from workers.selectors import gpu_worker_is_live


def check_commit(track_name: str, commit: str, files: Sequence[TreeFile], reader: GitReader) -> CheckedCommit:
    """Check a commit with `files` before anything is built; raise `Refusal` for the first error."""
    file = next((file for file in files if file.path == MANIFEST_NAME), None)
    if file is None:
        raise missing_manifest(f"commit {commit[:7]}")
    if file.mode not in PLAIN_FILES:
        raise irregular_manifest()
    manifest = parse_within_limits(reader.content(file.object, MAX_MANIFEST_BYTES + 1))
    if manifest.track != MODEL:
        raise Refusal(
            f'{MANIFEST_NAME} says track = "{manifest.track}", but only models are submitted here',
            fix=f'submit a model, and write track = "{MODEL}"',
        )
    if manifest.gpu and not gpu_worker_is_live():  # its build would be useless
        raise Refusal(
            f"{MANIFEST_NAME} says gpu = true, and no worker with a GPU is running now",
            fix="write gpu = false if a CPU is enough, or push again when the Status page shows a GPU worker",
        )
    require_script(manifest.run, [file.path for file in files])
    return CheckedCommit(manifest.title, manifest.licence, plan_of(files, reader))
