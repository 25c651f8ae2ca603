"""Adapter: checks of a commit in the layout of 2018 (`crowdai.json`) before anything is built."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from core.errors import Fault, Refusal
from evaluation.builder.build_pack_detection import CONFIGURATION_FILES
from evaluation.builder.manifest import MANIFEST_NAME
from evaluation.domain.errors import HostRefusal
from evaluation.formats.query.submissions_2018 import manifest_2018
from evaluation.formats.query.submissions_2018.builders import require_environment
from evaluation.formats.query.submissions_2018.plan_2018 import plan_2018, plan_line
from evaluation.formats.query.submissions_2018.program_check import START
from evaluation.legacy.environment import legacy_environment
from evaluation.legacy.licence_file import FILE_NAMES as LICENCE_FILES
from repositories.git_reader import GitReader, TreeFile
from submissions.checked_commit import CheckedCommit
from submissions.code_of_commit import write_code

_READ = CONFIGURATION_FILES | {START, manifest_2018.FILE_NAME, *LICENCE_FILES}


def is_2018(paths: Collection[str]) -> bool:
    """Return True for the files of a submission of 2018."""
    return manifest_2018.FILE_NAME in paths and MANIFEST_NAME not in paths


def check_2018(track_name: str, files: Sequence[TreeFile], reader: GitReader) -> CheckedCommit:
    """Check a commit of 2018 for a repository of this track; raise `Refusal` for the first error."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-plan-") as name:
        folder = Path(name)
        write_code(files, reader, folder, _READ)
        if not (folder / manifest_2018.FILE_NAME).is_file():
            raise Refusal(
                f"{manifest_2018.FILE_NAME} is not a plain file", fix=f"commit {manifest_2018.FILE_NAME} itself"
            )
        submission = manifest_2018.read_submission(folder)
        if submission.track != track_name:
            raise Refusal(
                f'{manifest_2018.FILE_NAME} is for the track "{submission.track}", but this repository is for the '
                f'track "{track_name}"',
                fix=f"push to the team's repository {submission.track}.git",
            )
        try:
            environment = legacy_environment()
            found = plan_2018(folder, environment) if environment else []
        except HostRefusal as refusal:
            raise Fault(f"the site cannot plan builds of 2018: {refusal.problem}") from refusal
        require_environment(environment)
    return CheckedCommit(submission.title, submission.licence, plan_line(found))
