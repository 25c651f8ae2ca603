"""How submissions are checked and built, by the format of their competition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from competitions.models import Competition
from competitions.rules_reader import Rules
from core.parts_by_format import ByFormat
from repositories.git_reader import GitReader, TreeFile
from submissions.checked_commit import CheckedCommit
from submissions.models import Player, Submission
from submissions.player_builds import LogLine
from submissions.smoke_test import SmokeTest


class SubmissionFormat(NamedTuple):
    """What submissions need of a format: how they are built and checked, and what follows from a change of one."""

    preflight: Callable[[str, str, Sequence[TreeFile], GitReader], CheckedCommit]
    """Check a commit for a repository of the named track before it is built; raise `Refusal` for the first error."""
    build: Callable[[Submission, LogLine], Player]
    """Build a submission; return the row of its player. Raise `Refusal` or `Fault`."""
    smoke_test: Callable[[Competition], SmokeTest[Rules]]
    """Return the current smoke test of a competition; raise `Fault`."""
    ready: Callable[[Submission], None]
    """Called in the transaction that makes a submission ready."""
    eligibility_changed: Callable[[Submission], None]
    """Called in the transaction that withdraws, disqualifies or reinstates a submission, or changes whether it is a
    baseline."""
    played_by_command: bool = False
    """Whether `gauntlet check --competition` plays the same smoke test."""
    has_baselines: bool = True
    """Whether a submission can become a baseline."""


submission_formats: ByFormat[SubmissionFormat] = ByFormat("submissions")
"""What submissions need of each format."""


def format_of(submission: Submission) -> SubmissionFormat:
    """Return what is particular to the format of the submission's competition."""
    return submission_formats.of(submission.repository.track.competition)
