"""How submissions are checked and built, by the format of their competition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from competitions.models import Competition
from competitions.rules_reader import Rules
from core.by_format import ByFormat
from repositories.git_reader import GitReader, TreeFile
from submissions.checked_commit import CheckedCommit
from submissions.models import Player, Submission
from submissions.player_builds import LogLine
from submissions.smoke_test import SmokeTest


class SubmissionFormat(NamedTuple):
    """What the push gate and the pipeline need of a format."""

    preflight: Callable[[str, str, Sequence[TreeFile], GitReader], CheckedCommit]
    """Check a commit for a repository of the named track before it is built; raise `Refusal` for the first error."""
    build: Callable[[Submission, LogLine], Player]
    """Build a submission; return the row of its player. Raise `Refusal` or `Fault`."""
    smoke_test: Callable[[Competition], SmokeTest[Rules]]
    """Return the current smoke test of a competition; raise `Fault`."""


submission_formats: ByFormat[SubmissionFormat] = ByFormat()
"""The checks, builds and smoke tests of each format."""
