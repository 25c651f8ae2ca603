"""How submissions are built and checked, by the format of their competition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import NamedTuple, Protocol

from competitions.models import Competition
from core.by_format import ByFormat
from evaluation.domain.smoke_checks import SmokeCheck
from submissions.models import Player, Submission
from submissions.player_builds import LogLine


class SmokeTest(Protocol):
    """The smoke test of a competition."""

    @property
    def limit(self) -> timedelta:
        """Maximum duration."""

    def play(self, player: Player, *, on_log: LogLine, on_piece: Callable[[], None]) -> Sequence[SmokeCheck]:
        """Check `player`; `on_log` gets its output; `on_piece` is called between the parts of the test."""


class SubmissionFormat(NamedTuple):
    """What submissions need of a format: how they are built and checked, and what follows from a change of one."""

    build: Callable[[Submission, LogLine], Player]
    """Build a submission; return the row of its player. Raise `Refusal` or `Fault`."""
    smoke_test: Callable[[Competition], SmokeTest]
    """Return the current smoke test of a competition; raise `Fault`."""
    ready: Callable[[Submission], None]
    """Called in the transaction that makes a submission ready."""
    eligibility_changed: Callable[[Submission], None]
    """Called in the transaction that withdraws, disqualifies or reinstates a submission."""


submission_formats: ByFormat[SubmissionFormat] = ByFormat()
"""What submissions need of each format."""


def format_of(submission: Submission) -> SubmissionFormat:
    """Return what is particular to the format of the submission's competition."""
    return submission_formats.of(submission.repository.track.competition)
