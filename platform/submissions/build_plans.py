"""Adapter: how a commit will be built, from its configuration files alone."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from django.conf import settings

from core.errors import Fault, Refusal
from evaluation.builder.allowed_submission_files import BINDER_DIRECTORIES
from evaluation.builder.build_description import plan_within_limits
from evaluation.builder.build_pack_detection import CONFIGURATION_FILES, check_configuration_size
from evaluation.domain.errors import HostRefusal
from repositories.git_reader import GitReader, TreeFile

PLAIN_FILES = ("100644", "100755")
"""Modes of files that are neither links nor submodules."""

_PLANNED_BYTES = 256 << 10
"""A configuration file larger than this is left to the build; a Dockerfile is refused."""


def plan_of(files: Sequence[TreeFile], reader: GitReader) -> str:
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
            if file.mode in PLAIN_FILES and file.size <= _PLANNED_BYTES:
                (folder / file.path).write_bytes(reader.content(file.object, _PLANNED_BYTES))
            elif PurePosixPath(file.path).name == "Dockerfile":
                raise Refusal(
                    f"{file.path} is not a plain file of at most {_PLANNED_BYTES >> 10} KiB",
                    fix="commit the Dockerfile itself instead of a link, and move long scripts into separate files",
                )
        return _plan(folder)


def _plan(folder: Path) -> str:
    try:
        return plan_within_limits(settings.SANDBOX, folder)
    except HostRefusal as refusal:
        raise Fault(f"the site cannot plan builds: {refusal.problem}") from refusal
