"""Checks of a commit's files, manifest and build plan before anything is built."""

from __future__ import annotations

from repositories.file_rules import check_files
from repositories.git_reader import GitReader
from repositories.models import Repository
from submissions.admission import check_title
from submissions.checked_commit import CheckedCommit
from submissions.formats import submission_formats


def check_content(repository: Repository, commit: str, reader: GitReader) -> CheckedCommit:
    """Check the files of `commit`, its manifest, build plan and title; raise `Refusal` for the first error."""
    files = reader.files(commit)
    check_files(files, reader)
    track = repository.track
    checked = submission_formats.of(track.competition).preflight(track.name, commit, files, reader)
    check_title(repository.entry, checked.title)
    return checked
