"""Adapter: checks of a commit of the transfer format (`metadata.json`) before anything is built."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from core.errors import Refusal
from evaluation.formats.transfer.metadata import (
    MAX_METADATA_BYTES,
    METADATA_NAME,
    OWN_CONTAINER,
    check_start,
    executable_line,
    missing_metadata,
    parse_within_limits,
)
from evaluation.formats.transfer.runner.legacy_program_check import check_program
from evaluation.legacy.environment import legacy_environment
from evaluation.legacy.licence_file import FILE_NAMES as LICENCE_FILES
from evaluation.legacy.licence_file import UNKNOWN, licence_in
from formats.transfer.tournaments.player_builds import has_legacy_environment
from repositories.git_reader import GitReader, TreeFile
from submissions.build_plans import plan_of
from submissions.checked_commit import CheckedCommit
from submissions.code_of_commit import write_code

_START_BYTES = 1024
"""What is read of the entry point: its first line."""

_LICENCE_BYTES = 64 << 10
_EXECUTABLE, _PLAIN = "100755", "100644"


def check_commit(track_name: str, commit: str, files: Sequence[TreeFile], reader: GitReader) -> CheckedCommit:
    """Check a commit with `files` for a repository of this track; raise `Refusal` for the first error."""
    by_path = {file.path: file for file in files if file.mode in (_PLAIN, _EXECUTABLE)}
    manifest = by_path.get(METADATA_NAME)
    if manifest is None:
        raise missing_metadata(f"commit {commit[:7]}", by_path)
    metadata = parse_within_limits(reader.content(manifest.object, MAX_METADATA_BYTES + 1))
    if metadata.track != track_name:
        raise Refusal(
            f"{METADATA_NAME} is of the track {metadata.track}, but this repository is for the track {track_name}",
            fix=f"push to the team's repository {metadata.track}.git, or correct type",
        )
    start = by_path.get(metadata.entry_point)
    check_start(metadata.entry_point, None if start is None else reader.content(start.object, _START_BYTES))
    legacy = metadata.container != OWN_CONTAINER and has_legacy_environment()
    if legacy:
        _check_program(metadata.entry_point, files, reader)
    where = ", in the legacy environment" if legacy else ""
    bit = "" if start is None or start.mode == _EXECUTABLE else f"; {executable_line(metadata.entry_point)}"
    checked = CheckedCommit(
        title=metadata.title or f"{track_name} {commit[:7]}",
        licence=metadata.licence or _licence(by_path, reader),
        plan=f"its files as they are; {metadata.entry_point} runs in a fresh copy for every batch{where}{bit}",
    )
    if settings.SANDBOX != "process" and not legacy:  # the files of packages of 2017 are not read
        plan_of(files, reader)
    return checked


def _check_program(entry_point: str, files: Sequence[TreeFile], reader: GitReader) -> None:
    """Make the checks of the build on the commit's files: a push that cannot be built must use no slot."""
    environment = legacy_environment()
    if environment is None:
        return
    with tempfile.TemporaryDirectory(prefix="gauntlet-program-") as name:
        folder = Path(name)
        write_code(files, reader, folder, {entry_point})
        check_program(folder, entry_point, environment)


def _licence(by_path: dict[str, TreeFile], reader: GitReader) -> str:
    name = next((name for name in LICENCE_FILES if name in by_path), None)
    if name is None:
        return UNKNOWN
    return licence_in(reader.content(by_path[name].object, _LICENCE_BYTES).decode("utf-8", "replace"))
