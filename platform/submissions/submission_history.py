"""What happened to a submission, for the page that organisers see in the admin."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.event_log import name_of
from core.models import Event
from core.time_format import elapsed
from submissions import quota_ledger
from submissions.models import Build, LogChunk, QuotaSlot, Submission
from submissions.selectors import faults_of, tracebacks_of

LOG_LINES = 30
"""Number of the last lines of a log that are shown: the end says why it ended."""

MOST_EVENTS = 50

_BECAUSE = {
    quota_ledger.AWAITS_ORGANISER: "after a platform error; an organiser decides on its refund",
    quota_ledger.BUILD_REJECTED: "because the build was rejected",
    quota_ledger.FAULT: "after a platform error",
    quota_ledger.OVERDUE: "because no worker took it in time",
    quota_ledger.PUSH_BROKEN_OFF: "because the push broke off",
    quota_ledger.WITHDRAWN: "because it was withdrawn",
}


@dataclass(frozen=True)
class BuildAttempt:
    """A build with its smoke test: how long it took, the checks that failed, its platform errors, the end of its log.

    `traceback` is that of a platform error, "" without one.
    """

    build: Build
    took: str
    failed: Sequence[Mapping[str, object]]
    faults: Sequence[Event]
    traceback: str
    log: str
    lines_before: int
    """Number of lines of the log above `log`."""


@dataclass(frozen=True)
class History:
    """Attempts, the newest first; the last events, the newest first; and the line of the quota ledger."""

    attempts: Sequence[BuildAttempt]
    events: Sequence[Event]
    slot: QuotaSlot | None

    @property
    def slot_in_words(self) -> str:
        """What became of the slot, and why."""
        if self.slot is None:
            return ""
        words = ["its slot is", self.slot.get_state_display(), _BECAUSE.get(self.slot.reason, "")]
        return " ".join(filter(None, words))


def history_of(submission: Submission) -> History:
    """Return what happened to a submission, in a number of queries that does not grow with its attempts."""
    faults: defaultdict[int, list[Event]] = defaultdict(list)
    for event in faults_of(submission):
        faults[event.data.get("attempt", 0)].append(event)
    ends, traces = _log_ends(submission), tracebacks_of(submission)
    attempts = [
        BuildAttempt(
            build=build,
            took=_took(build.started_at, build.finished_at),
            failed=[check for check in build.checks if check.get("passed") is False],
            faults=faults[build.attempt],
            traceback=traces.get(build.attempt, ""),
            log=ends[build.pk][0],
            lines_before=ends[build.pk][1],
        )
        for build in submission.builds.order_by("-attempt")
    ]
    events = Event.objects.filter(subject=name_of(submission)).select_related("by").order_by("-pk")[:MOST_EVENTS]
    return History(attempts, list(events), QuotaSlot.objects.filter(submission=submission).first())


def _log_ends(submission: Submission) -> Mapping[int, tuple[str, int]]:
    """Return the last lines of the log of each build by its key, and how many lines are above them."""
    found: defaultdict[int, tuple[str, int]] = defaultdict(lambda: ("", 0))
    chunks = LogChunk.objects.filter(build__submission=submission).order_by("build", "first_line")
    for build, first, text in chunks.values_list("build", "first_line", "text").iterator(chunk_size=50):
        kept, before = found[build]
        lines = [*kept.split("\n"), *text.split("\n")] if kept else text.split("\n")
        start = before if kept else first - 1
        found[build] = "\n".join(lines[-LOG_LINES:]), start + max(len(lines) - LOG_LINES, 0)
    return found


def _took(started_at: datetime, finished_at: datetime | None) -> str:
    return "" if finished_at is None else elapsed((finished_at - started_at).total_seconds())
