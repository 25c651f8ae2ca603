"""Adapter: checks of a commit of the query format before anything is built."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import Refusal
from evaluation.builder.manifest import MANIFEST_NAME, Manifest, all_in_one
from evaluation.builder.run_script_check import require_script
from evaluation.domain.errors import ManifestRefusal
from formats.query.submissions.preflight_2018 import check_2018, is_2018
from repositories.git_reader import GitReader, TreeFile
from submissions.build_plans import plan_of
from submissions.checked_commit import CheckedCommit
from submissions.commit_manifest import manifest_of, missing_gpu


def check_commit(track_name: str, commit: str, files: Sequence[TreeFile], reader: GitReader) -> CheckedCommit:
    """Check a commit with `files` for a repository of this track.

    Raise `Refusal` for the first error, and for those of manifest and script together.
    """
    if is_2018({file.path for file in files}):
        return check_2018(track_name, files, reader)
    try:
        manifest = manifest_of(commit, files, reader)
    except ManifestRefusal as refusal:
        raise all_in_one([refusal, *_script_errors(refusal.run, files)]) from refusal
    found = [*_site_errors(manifest, track_name), *_script_errors(manifest.run, files)]
    if found:
        raise all_in_one(found)
    return CheckedCommit(manifest.title, manifest.licence, plan_of(files, reader))


def _site_errors(manifest: Manifest, track_name: str) -> list[Refusal]:
    """Return what of a valid manifest does not fit this repository and this site."""
    found = []
    if manifest.track != track_name:
        found.append(
            Refusal(
                f'{MANIFEST_NAME} says track = "{manifest.track}", but this repository is for the track "{track_name}"',
                fix=f'write track = "{track_name}", or push to the team\'s repository {manifest.track}.git',
            )
        )
    if error := missing_gpu(manifest):
        found.append(error)
    return found


def _script_errors(run: tuple[str, ...], files: Sequence[TreeFile]) -> list[Refusal]:
    """Return the error of the script that `run` starts, none where `run` could not be read."""
    try:
        if run:
            require_script(run, [file.path for file in files])
    except Refusal as refusal:
        return [refusal]
    return []
