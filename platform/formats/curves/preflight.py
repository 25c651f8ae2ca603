"""Checks of a commit of the curves format."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import Refusal
from evaluation.builder.manifest import MANIFEST_NAME
from evaluation.builder.run_script_check import require_script
from formats.curves.tracks import MODEL
from repositories.git_reader import GitReader, TreeFile
from submissions.build_plans import plan_of
from submissions.checked_commit import CheckedCommit
from submissions.commit_manifest import manifest_of, missing_gpu


def check_commit(track_name: str, commit: str, files: Sequence[TreeFile], reader: GitReader) -> CheckedCommit:
    """Check a commit with `files` before anything is built; raise `Refusal` for the first error."""
    manifest = manifest_of(commit, files, reader)
    if manifest.track != MODEL:
        raise Refusal(
            f'{MANIFEST_NAME} says track = "{manifest.track}", but only models are submitted here',
            fix=f'submit a model, and write track = "{MODEL}"',
        )
    if error := missing_gpu(manifest):
        raise error
    require_script(manifest.run, [file.path for file in files])
    return CheckedCommit(manifest.title, manifest.licence, plan_of(files, reader))
