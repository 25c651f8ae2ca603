"""How the builds of a submission ended: when the next one may begin, and when the submission is rejected.

Faults count and pause as in `workers.fault_record`, but one host is enough to give a submission up: that costs its team
nothing, and the team sees it, and can submit again or ask an organiser to retry it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from django.db.models import QuerySet

from submissions.models import Build, Submission
from workers.fault_record import MAX_FAULTS, PAUSES, FaultRecord
from workers.worker_name import host_of

READY, LOST, OVERDUE, FAULT, WITHDRAWN = "ready", "lost", "overdue", "fault", "withdrawn"
"""Outcomes of a build, in addition to the reasons of a refusal."""
HOST = "host"
"""Outcome of a build on a host that then failed a check: it does not count against the submission."""
STOPPED = "stopped"
"""Outcome of a build whose worker was stopped: it does not count either."""
PLATFORM_FAULTS = frozenset({LOST, OVERDUE, FAULT})
PAUSING = frozenset({*PLATFORM_FAULTS, HOST})
"""Outcomes after which a submission may have to wait."""
NOT_COUNTED = frozenset({HOST, STOPPED})


class Attempt(NamedTuple):
    """A finished build."""

    submission: int
    outcome: str
    worker: str
    finished_at: datetime


def attempts_of(submission: Submission) -> list[Attempt]:
    """Return the finished builds of a submission, oldest first."""
    return _finished(submission.builds.order_by("attempt"))


def paused_submissions(now: datetime) -> list[int]:
    """Return the waiting submissions that wait at least until after `now`, because their last build had a fault."""
    # only recent faults pause: the builds of all waiting submissions are many
    recent = Build.objects.filter(outcome__in=PAUSING, finished_at__gt=now - max(PAUSES))
    at_fault = recent.filter(submission__state=Submission.State.RECEIVED).order_by().values("submission")
    builds = Build.objects.filter(submission__in=at_fault).order_by("submission", "attempt")
    paused = []
    for submission, attempts in groupby(_finished(builds), key=lambda attempt: attempt.submission):
        until = pause_after(attempts)
        if until is not None and until > now:
            paused.append(submission)
    return paused


def pause_after(attempts: Iterable[Attempt]) -> datetime | None:
    """Return the time until which a submission waits after these attempts; None if it need not wait.

    Without a pause after the first lease that expires or failure of a host.
    """
    found = list(attempts)
    if not found or found[-1].outcome not in PAUSING:
        return None
    last = found[-1]
    pause = _record(found).pause(first=last.outcome not in (LOST, HOST))
    return last.finished_at + pause if pause else None


def is_given_up(attempts: Iterable[Attempt]) -> bool:
    """Return True if the last attempt was the last one of `MAX_FAULTS` faults in a row."""
    found = list(attempts)
    return found[-1].outcome in PLATFORM_FAULTS and not _record(found).faults


def _finished(builds: QuerySet[Build]) -> list[Attempt]:
    rows = builds.values_list("submission", "outcome", "worker", "finished_at")
    return [Attempt(submission, outcome, worker, at) for submission, outcome, worker, at in rows if at is not None]


def _record(attempts: Iterable[Attempt]) -> FaultRecord:
    """Return the faults since the submission last began from zero: after a result, or when it was given up."""
    record = FaultRecord()
    for _, outcome, worker, _ in attempts:
        if outcome in PLATFORM_FAULTS:
            record = record.after_fault(host_of(worker))
            if record.faults == MAX_FAULTS:
                record = FaultRecord()
        elif outcome == HOST:
            record = record.after_host_fault()
        elif outcome not in NOT_COUNTED:
            record = FaultRecord()
    return record
